"""How connections to PostgreSQL are made, cleaned between two users, and lent by a pool."""
