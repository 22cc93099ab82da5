"""The hot paths, which run with every step, for PostgreSQL: claiming, turns, messages, transactions."""
