"""An Agent of an HTTP service."""
