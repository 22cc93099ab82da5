"""Findings of ``check``: problems of the store, the server and the versions at work."""
