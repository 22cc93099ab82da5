"""Acts in bulk: one directive for every task that a filter finds."""
