"""What runs with every step, written for PostgreSQL alone: claiming, turns, messages, transactions."""
