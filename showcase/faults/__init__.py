"""What the showcase does to processes and servers, and what it sees of them meanwhile."""
