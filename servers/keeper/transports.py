"""Over what the shop's processes speak with one another: what TRANSPORT=… says."""

from __future__ import annotations

from enum import StrEnum


class TransportKind(StrEnum):
    """One of the transports that the example knows."""

    LOCAL = "local"  # queues in each Scheduler's process, which runs all Agents, too
    STORE = "store"  # queues in the state store
    NATS = "nats"  # three servers
    RABBITMQ = "rabbitmq"  # one server
    AMQP10 = "amqp10"  # one server of RabbitMQ, which its plugin lets speak AMQP 1.0
    ACTIVEMQ = "activemq"  # one server of Apache ActiveMQ, by AMQP 1.0

    @property
    def is_broker(self) -> bool:
        """Whether it needs servers of its own."""
        return self in BROKERS

    @property
    def brand(self) -> str:
        """What people call it."""
        return BRANDS.get(self, self.value)


TRANSPORTS = "local, store, nats, rabbitmq, amqp10 or activemq"
BRANDS = {
    TransportKind.NATS: "NATS",
    TransportKind.RABBITMQ: "RabbitMQ",
    TransportKind.AMQP10: "AMQP 1.0",
    TransportKind.ACTIVEMQ: "ActiveMQ",
}
BROKERS = frozenset(BRANDS)


def transport_kind(text: str) -> TransportKind:
    """The transport of that name; raises ValueError, in words."""
    try:
        return TransportKind(text)
    except ValueError:
        raise ValueError(
            f"transport: expected {TRANSPORTS}, found {text[:40]!r}; say TRANSPORT=nats, or nothing"
        ) from None
