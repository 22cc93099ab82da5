"""Queues in the memory of one process."""
