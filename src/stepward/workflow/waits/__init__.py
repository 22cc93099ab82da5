"""Waits of a run beside steps: signals, updates and timers."""
