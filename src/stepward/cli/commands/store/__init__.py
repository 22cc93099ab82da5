"""Commands about the store: its settings, schema, logins, keys and old tasks."""
