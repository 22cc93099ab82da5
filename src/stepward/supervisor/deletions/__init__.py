"""Deletions outside the store that follow from deletions in it, by the Supervisor that leads."""
