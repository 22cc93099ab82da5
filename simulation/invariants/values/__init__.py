"""Invariants of the values that tasks write for readers outside."""
