"""The application as a principal sees it: tasks in its scope, batches of those, payloads with the permission alone."""
