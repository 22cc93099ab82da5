"""The servers of a broker as a process, for the shop, the demo and the tests."""

from __future__ import annotations

from collections.abc import Callable

from servers.keeper.broker_state import BrokerStanding
from servers.keeper.process import Upkeep
from servers.keeper.state_reports import TellingProcess
from servers.keeper.transports import TransportKind
from servers.ports import free_port

AWAY_SECONDS = {
    # Until the other two have found who leads.
    TransportKind.NATS: 8.0,
    TransportKind.RABBITMQ: 0.0,
    TransportKind.AMQP10: 0.0,
    TransportKind.ACTIVEMQ: 0.0,
}
SIZES = {TransportKind.NATS: 3, TransportKind.RABBITMQ: 1, TransportKind.AMQP10: 1, TransportKind.ACTIVEMQ: 1}
ADDRESSES = {
    TransportKind.RABBITMQ: "amqp://guest:guest@127.0.0.1:{port}/",
    TransportKind.AMQP10: "amqp10://guest:guest@127.0.0.1:{port}/",
    TransportKind.ACTIVEMQ: "amqp10://guest:guest@127.0.0.1:{port}",
}
WATCHED_AT = {**ADDRESSES, TransportKind.AMQP10: ADDRESSES[TransportKind.RABBITMQ]}
"""What an observer connects to: RabbitMQ copies messages to a queue of AMQP 0-9-1."""


class BrokerProcess(TellingProcess[BrokerStanding]):
    """Three NATS servers or one of another broker, on free ports; `on_change` is called with their state as it changes.

    A server that ends is started again after `away` seconds. Its process is not: another would begin with empty queues.
    """

    whole_seconds = 90.0

    def __init__(
        self,
        kind: TransportKind,
        *,
        upkeep: Upkeep,
        away: float | None = None,
        on_change: Callable[[BrokerStanding], None] = lambda _standing: None,
    ) -> None:
        self.transport = kind
        self.ports = tuple(free_port() for _ in range(SIZES[kind]))
        seconds = AWAY_SECONDS[kind] if away is None else away
        options = (kind.value, "--away", str(seconds), "--ports", *map(str, self.ports))
        super().__init__(
            kind.value, "servers.keeper", *options, kind=BrokerStanding, upkeep=upkeep, on_change=on_change
        )

    @property
    def address(self) -> str:
        """What the shop's processes connect to; NATS keeps each message on every server."""
        if self.transport in ADDRESSES:
            return ADDRESSES[self.transport].format(port=self.ports[0])
        hosts = ",".join(f"127.0.0.1:{port}" for port in self.ports)
        return f"nats://{hosts}?replicas={len(self.ports)}"

    @property
    def watched_at(self) -> str:
        """What an observer of a single server connects to."""
        return WATCHED_AT[self.transport].format(port=self.ports[0])

    def is_whole(self, standing: BrokerStanding) -> bool:
        """Whether every server runs."""
        return len(standing.servers) == standing.size
