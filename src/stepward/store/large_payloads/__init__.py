"""Large payloads outside the store: put there before a verb writes, and fetched after a verb has read."""
