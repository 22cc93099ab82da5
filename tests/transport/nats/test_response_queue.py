"""What its reader has of a response queue when messages are lost between the server and it: all, and in order."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from stepward.clock import Environment
from stepward.events import Observers
from stepward.transport.open_broker import broker_queues
from stepward.transport.queues.broker_queues import BrokerQueues
from stepward.transport.queues.contract import Stored
from tests.faults.mischief import AT_ONCE, Mischief
from tests.faults.nats_wire import NatsWire

pytestmark = pytest.mark.servers

ALL = [b"%d" % number for number in range(1, 42)]
LOST = 14
"""The number of the first message that does not reach the reader."""


class Losing(Mischief):
    """Loses one of the messages that are delivered, alone or with the connection."""

    def __init__(self, *, cuts: bool) -> None:
        super().__init__(seed=0)
        self.wire: NatsWire | None = None
        self._cuts = cuts
        self._deliveries = 0

    def delays(self, kind: str) -> Sequence[float]:
        self._deliveries += kind == "delivery"
        if kind != "delivery" or self._deliveries != LOST:
            return AT_ONCE
        if self._cuts:
            assert self.wire is not None
            asyncio.get_running_loop().call_soon(self.wire.cut)
        return ()


def queues(app: str, port: int) -> BrokerQueues:
    return broker_queues(
        f"nats://127.0.0.1:{port}",
        app=app,
        now=asyncio.get_running_loop().time,
        environment=Environment(),
        observers=Observers(),
        bury=None,
    )


async def read(reader: BrokerQueues, queue: str) -> list[Stored]:
    """Until the last of all has come."""
    found: list[Stored] = []
    async with asyncio.timeout(15):
        while not found or found[-1].body != ALL[-1]:
            found += await reader.read(queue, found[-1].token if found else 0, len(ALL))
    return found


@pytest.mark.parametrize("cuts", [True, False], ids=["with its connection", "alone"])
async def test_messages_lost_on_the_way_to_the_reader_come_again(address: str, app: str, cuts: bool) -> None:
    queue, port = f"replies.{app}.web", int(address.rpartition(":")[2])
    losing = Losing(cuts=cuts)
    writer = queues(app, port)
    async with NatsWire(port, losing) as wire:
        losing.wire = wire
        reader = queues(app, wire.port)
        await writer.put(queue, [(body, None) for body in ALL])
        found = await read(reader, queue)
        assert [each.body for each in found] == ALL
        await reader.settle(queue, [each.token for each in found])
        await reader.close()
    await writer.close()
