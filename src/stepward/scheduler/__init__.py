"""The Scheduler: arranges the steps of tasks, one commit a turn."""
