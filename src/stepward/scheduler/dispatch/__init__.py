"""Dispatch after a Scheduler's commit: requests to Agents, and local steps."""
