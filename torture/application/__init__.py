"""The application under torture, its processes and its service, and what people ask of it."""
