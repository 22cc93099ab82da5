"""Schedules at run time: a client creates them, starts their tasks and pauses them."""
