"""The routes of tasks: ``/api/v1/tasks``, and what the path of one task shows, accepts and streams."""
