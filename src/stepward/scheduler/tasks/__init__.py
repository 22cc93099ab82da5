"""Tasks that a Scheduler holds in memory: advanced, undone, ended, and the rows that this changes."""
