"""What directives and repairs make of the rows of a task: pure."""
