"""What Azure Service Bus has beside AMQP 1.0: tokens, locks with an end, and sessions."""
