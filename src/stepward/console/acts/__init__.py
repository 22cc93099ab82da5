"""What forms ask for: each act is checked for its token and for the picture on which it was decided."""
