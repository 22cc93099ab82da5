"""Bursts of work, and how long they hold a process up."""
