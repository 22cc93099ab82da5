"""Faults at processes, servers and the store, and whether each hit a working process."""
