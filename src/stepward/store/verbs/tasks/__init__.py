"""Verbs on the rows of tasks: inboxes, directives, replies and status events."""
