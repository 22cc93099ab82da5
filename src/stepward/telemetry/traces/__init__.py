"""Traces of tasks, exported over OTLP."""
