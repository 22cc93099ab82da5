"""Verbs on the rows of tasks: inboxes, directives and status events."""
