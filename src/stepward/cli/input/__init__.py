"""What commands are given: arguments, targets, passwords."""
