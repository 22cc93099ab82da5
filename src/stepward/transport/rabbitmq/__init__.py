"""Queues in a RabbitMQ server or cluster."""
