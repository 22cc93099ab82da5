"""Connections to the server, their transactions and the clock, and how verbs run on them."""
