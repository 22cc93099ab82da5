"""Waiting for a task: until it ends, with warnings of what keeps it from ending."""
