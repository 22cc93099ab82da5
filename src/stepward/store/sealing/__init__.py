"""Encryption of the store's rows: which columns hold payloads, and how they are sealed and opened."""
