"""Queues in a JetStream of NATS servers."""
