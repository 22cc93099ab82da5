"""An application's own queues at an AMQP 1.0 broker."""
