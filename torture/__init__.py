"""Chaos with real processes on a PostgreSQL pair: ``python -m torture --minutes 10 [--seed N]``."""
