"""The broker is hurt while orders are running: a NATS server dies, or another broker is restarted.

An observer at the broker counts its messages: that the play's messages go over it is part of the proof.
"""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

from nats.aio.client import Client as NatsClient

from servers.keeper.broker_process import BrokerProcess
from servers.keeper.broker_state import BrokerServer
from servers.keeper.transports import TransportKind
from showcase.faults import activemq, nats, rabbitmq
from showcase.faults.flight import in_flight
from showcase.faults.traffic import Kind, Traffic
from showcase.proof import Outage, Transit
from showcase.proof.words import count
from showcase.telling import Teller
from showcase.waiting import Waits
from stepward import Client

ENOUGH_ORDERS = 5


class Hurt(Protocol):
    """The fault of a broker; `lost` is called with the name of the server that was hit."""

    lost: str

    async def strike(self) -> str:
        """Bring the fault about; a line that says so."""
        ...

    async def recover(self) -> str:
        """Wait until orders can continue; a line that says how."""
        ...

    async def heal(self) -> str:
        """Wait until all is as before; a line that says so, empty if it was when orders could continue."""
        ...


class BrokerOutage:
    """The outage of the broker, and all that went over it from the beginning."""

    def __init__(self, broker: BrokerProcess, hurt: Hurt, traffic: Traffic) -> None:
        self._broker = broker
        self._hurt = hurt
        self._traffic = traffic
        self._held: frozenset[str] = frozenset()

    async def strike(self, client: Client, waits: Waits, teller: Teller) -> None:
        """Hurt it, with orders in flight."""
        self._held = await in_flight(client, waits, ENOUGH_ORDERS)
        teller.tell(f"{await self._hurt.strike()}, with {count(len(self._held), 'order')} in flight", "bold red")

    async def recover(self, waits: Waits, teller: Teller) -> None:
        """See orders go on."""
        with waits.named(f"{self._hurt.lost} to be made good"):
            teller.tell(await self._hurt.recover(), "green")

    async def heal(self, waits: Waits, teller: Teller) -> None:
        """See it as it was before."""
        with waits.named(f"{self._broker.transport.brand} to be whole"):
            if told := await self._hurt.heal():
                teller.tell(told, "green")

    @property
    def outage(self) -> Outage:
        """For the proof: what was lost, and the orders that were in flight then."""
        return Outage(lost=self._hurt.lost, held=self._held)

    @property
    def transit(self) -> Transit:
        """For the proof: what went over the broker."""
        seen = {kind.value: len(ids) for kind, ids in self._traffic.ids.items()}
        submitted = frozenset(self._traffic.ids[Kind.SUBMISSION])
        return Transit(broker=self._broker.transport.brand, submitted=submitted, seen=seen)


@asynccontextmanager
async def watched(broker: BrokerProcess) -> AsyncIterator[BrokerOutage]:
    """The broker under watch, for as long as the block lasts."""
    traffic = Traffic()
    if broker.transport is TransportKind.NATS:
        async with nats.looking(broker.ports, traffic) as client:
            yield BrokerOutage(broker, NodeDies(broker, client), traffic)
        return
    looking = activemq.looking if broker.transport is TransportKind.ACTIVEMQ else rabbitmq.looking
    async with looking(broker.watched_at, traffic):
        yield BrokerOutage(broker, Restart(broker), traffic)


class NodeDies:
    """Of three NATS servers the one that leads the shop's stream."""

    def __init__(self, broker: BrokerProcess, client: NatsClient) -> None:
        self.lost = "NATS"
        self._broker = broker
        self._client = client
        self._dead: BrokerServer | None = None

    async def strike(self) -> str:
        name = await nats.leader_after(self._client, "")
        self._dead = next(server for server in self._broker.standing.servers if server.name == name)
        self.lost = f"NATS’s {name}"
        os.kill(self._dead.pid, signal.SIGKILL)
        return f"kill -9 {self.lost} (pid {self._dead.pid}), which leads the stream"

    async def recover(self) -> str:
        assert self._dead is not None, "struck before"
        name = await nats.leader_after(self._client, self._dead.name)
        return f"{name} leads it now; two servers have every message, and all go on with them"

    async def heal(self) -> str:
        standing = await self._broker.whole()
        assert self._dead is not None, "struck before"
        again = next(server for server in standing.servers if server.name == self._dead.name)
        return f"{again} is back, and catches up"


class Restart:
    """The one server is stopped in good order, and started again where it was."""

    def __init__(self, broker: BrokerProcess) -> None:
        self.lost = broker.transport.brand
        self._broker = broker

    async def strike(self) -> str:
        [server] = self._broker.standing.servers
        os.kill(server.pid, signal.SIGTERM)
        await self._broker.until(lambda standing: not standing.servers)
        return f"{self.lost} (pid {server.pid}) is stopped"

    async def recover(self) -> str:
        [server] = (await self._broker.whole()).servers
        return f"{server} is started again: all go on where they were"

    async def heal(self) -> str:
        return ""
