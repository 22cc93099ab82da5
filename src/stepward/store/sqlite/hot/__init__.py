"""What runs with every step, written for SQLite alone: claiming, turns, messages, transactions."""
