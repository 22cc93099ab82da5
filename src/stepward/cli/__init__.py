"""The command line: runs actors, submits and follows tasks, and gives operators their tools."""
