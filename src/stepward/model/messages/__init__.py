"""Messages between actors: requests, replies, status events and completion tokens."""
