"""Acts that operators can choose for a task, and those that the store would carry out."""
