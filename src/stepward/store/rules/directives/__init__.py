"""The effect of directives and repairs on the rows of a task: pure."""
