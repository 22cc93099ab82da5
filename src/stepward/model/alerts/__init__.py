"""Alerts as data: how urgent they are, which sinks get them, and what mixed code among Schedulers looks like."""
