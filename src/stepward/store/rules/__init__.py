"""Decisions that both stores share: pure functions of records."""
