"""The file, its connections and transactions, and how verbs run on it."""
