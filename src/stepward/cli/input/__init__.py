"""The input of commands: arguments, targets, passwords."""
