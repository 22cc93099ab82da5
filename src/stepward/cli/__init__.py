"""The command line: runs actors, submits and follows tasks, and is the operators' hand."""
