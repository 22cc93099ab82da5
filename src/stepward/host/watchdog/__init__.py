"""Finds code that holds up an event loop, counts it, and ends a process that hangs."""
