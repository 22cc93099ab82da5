"""Server-sent events: limits on streams, their polling, and the feed of changed tasks."""
