"""Requests and replies at NATS."""
