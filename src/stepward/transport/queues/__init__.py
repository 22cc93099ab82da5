"""Queues of an application: submissions and responses."""
