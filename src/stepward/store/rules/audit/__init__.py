"""The audit: its chain of hashes, and the acts that it holds."""
