"""The state store: the only truth."""
