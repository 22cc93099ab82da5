"""Queues in NATS JetStream."""
