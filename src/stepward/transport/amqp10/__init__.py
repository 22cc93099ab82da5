"""Queues in a broker that speaks AMQP 1.0: RabbitMQ with its plugin, and Azure Service Bus."""
