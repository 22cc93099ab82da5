"""What Agents send to a Scheduler: replies, received, settled after their commit, and progress."""
