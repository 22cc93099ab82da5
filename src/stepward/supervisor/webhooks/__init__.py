"""Status events to webhooks: delivered by the leading Supervisor, in order for each task."""
