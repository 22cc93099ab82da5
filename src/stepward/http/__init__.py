"""The HTTP API, and who may use it; the console's pages are served by the same application."""
