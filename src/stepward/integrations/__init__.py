"""Stepward inside web frameworks, and Celery's tasks as steps; each module needs the package of its own name."""
