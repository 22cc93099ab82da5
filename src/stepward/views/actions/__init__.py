"""What operators can do about a task, and which of it the store would carry out."""
