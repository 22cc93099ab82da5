"""Recorded histories, replayed by the code of an application, and where the two differ."""
