"""What the server behind a store says of itself, and of its standbys."""
