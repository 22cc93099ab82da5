"""The actors of a process: each runs under a lease, and is replaced when it is fenced."""
