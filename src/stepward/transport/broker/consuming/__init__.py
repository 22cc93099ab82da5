"""One queue of a broker as a process consumes it."""
