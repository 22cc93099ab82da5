"""The store's verbs, written once: coroutines over the connection of an engine, which brings the SQL."""
