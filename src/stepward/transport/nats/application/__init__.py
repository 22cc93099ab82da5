"""An application's own queues at NATS."""
