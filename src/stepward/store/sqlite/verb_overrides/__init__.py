"""Verbs that SQLite performs in a way of its own, in place of those that the engines share."""
