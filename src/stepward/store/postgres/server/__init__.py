"""The state of the server behind a store, and of its standbys."""
