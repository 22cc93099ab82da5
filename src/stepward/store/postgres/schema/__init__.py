"""The schema of a store: its versions, the way from older ones, and the rights on its tables."""
