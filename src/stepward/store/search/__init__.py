"""Search of tasks: a small language of conditions, as data, and the SQL that it becomes on each engine."""
