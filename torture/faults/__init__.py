"""What is done to processes, servers and the store, and whether it hit a working process."""
