"""What a running task shows to readers outside."""
