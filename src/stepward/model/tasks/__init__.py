"""Rules and values of one task: its attributes and options, its complete-by, and what a directive makes of it."""
