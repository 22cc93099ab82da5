"""Connections to PostgreSQL: made, cleaned between two users, and lent by a pool."""
