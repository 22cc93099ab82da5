"""How many steps of an Agent may run at once, and which step is next."""
