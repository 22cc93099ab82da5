"""What a process does for queues at a broker: moves, repairs and warnings."""
