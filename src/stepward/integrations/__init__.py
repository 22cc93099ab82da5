"""Web frameworks, Celery and agents of language models; each module needs the package of its own name."""
