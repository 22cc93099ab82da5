"""A double of Azure Service Bus: AMQP 1.0 over a real socket, behaving as its documentation says."""
