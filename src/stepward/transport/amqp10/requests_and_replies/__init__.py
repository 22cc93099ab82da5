"""Requests and replies at an AMQP 1.0 broker."""
