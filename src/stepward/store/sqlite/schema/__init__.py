"""The schema of a store: its file, its versions, and the way from older ones."""
