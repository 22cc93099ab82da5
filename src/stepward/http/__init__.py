"""The HTTP API and its access control; one application serves the API and the console's pages."""
