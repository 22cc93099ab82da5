"""Admission of steps to Agents: how many may run at once, and which is next."""
