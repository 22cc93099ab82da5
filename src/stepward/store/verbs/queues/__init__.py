"""Verbs on queues in the store: messages, dead letters, and the events of webhooks."""
