"""An application's own queues at RabbitMQ."""
