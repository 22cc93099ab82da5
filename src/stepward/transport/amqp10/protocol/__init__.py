"""One AMQP 1.0 connection on asyncio: Qpid Proton's engine holds the protocol's state, and does no input or output."""
