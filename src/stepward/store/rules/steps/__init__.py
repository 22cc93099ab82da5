"""Steps that no turn of their owner decides: finished from outside, overdue, or without an owner."""
