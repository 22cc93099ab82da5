"""Schedules: their nominal times, and the tasks that they start."""
