"""Checks and records of a submission."""
