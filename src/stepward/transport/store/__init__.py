"""Queues in the store: messages of actors and of applications as rows, for processes without a broker."""
