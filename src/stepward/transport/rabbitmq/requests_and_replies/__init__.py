"""Requests and replies at RabbitMQ."""
