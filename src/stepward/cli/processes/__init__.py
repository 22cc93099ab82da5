"""Processes that run actors: their start, signals and end."""
