"""Queues between Schedulers and Agents."""
