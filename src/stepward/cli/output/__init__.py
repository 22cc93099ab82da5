"""The output of commands: tables, times, JSON."""
