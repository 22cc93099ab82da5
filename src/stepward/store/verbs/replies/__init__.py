"""Verbs on replies that reach a Scheduler which does not hold their task."""
