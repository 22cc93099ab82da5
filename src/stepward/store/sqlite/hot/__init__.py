"""The hot paths, which run with every step, for SQLite: claiming, turns, messages, transactions."""
