"""Actors of a process for queues at a broker: carrying, repair and alerts."""
