"""Values, streams and updates of a running task, for clients."""
