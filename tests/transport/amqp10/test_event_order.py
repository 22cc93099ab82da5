"""Status events come in order over AMQP 1.0, also where a broker returns earlier ones late."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from servers.activemq import ActiveMqServer
from servers.rabbitmq import RabbitServer
from stepward.errors import TransportError
from stepward.transport.queues.broker_queues import BrokerQueues
from stepward.transport.queues.contract import Stored
from tests.transport.brokers import app_queues, new_app
from torture.servers.connection_relay import ConnectionRelay

WEB = "replies.shop.web"
BOUND = 40.0


def events(*named: str) -> bytes:
    """A batch of status events, each named by its task and sequence."""
    found = [(name, int(name.rpartition("/")[2])) for name in named]
    return json.dumps([{"id": name, "sequence": f"{number:010}"} for name, number in found]).encode()


def named(body: bytes) -> str:
    """The name of an event."""
    return str(json.loads(body)["id"])


async def read(reader: BrokerQueues, after: int) -> list[Stored]:
    """The next events, once the reader is connected again."""
    while True:
        with suppress(TransportError):
            return [*await reader.read(WEB, after, 9)]


@pytest.fixture
async def relay(server: RabbitServer | ActiveMqServer) -> AsyncIterator[ConnectionRelay]:
    relay = ConnectionRelay(server.port)
    await relay.start()
    yield relay
    await relay.close()


pytestmark = pytest.mark.servers


async def test_an_event_that_a_lost_connection_held_comes_before_the_ones_after_it(
    address: str, server: RabbitServer | ActiveMqServer, relay: ConnectionRelay
) -> None:
    """The broker gives it to the new connection only once it has noticed that the other one is gone."""
    app = new_app()
    writer = app_queues(address, app)
    reader = app_queues(address.replace(f":{server.port}", f":{relay.port}"), app)
    async with asyncio.timeout(BOUND):
        await writer.put(WEB, [(events("t/1"), None)])
        [first] = await reader.read(WEB, 0, 9)
        await reader.settle(WEB, [first.token])
        relay.withhold()
        await writer.put(WEB, [(events("t/2"), None)])
        reading = asyncio.create_task(read(reader, first.token))
        relay.lose()
        while not reading.done():  # The lost connection and the new one get messages in turn, once both stand.
            await writer.put(WEB, [(events("u/1"), None)])
            await asyncio.wait({reading}, timeout=0.1)
        found = await reading
        for name in ("t/3", "t/4", "t/5"):
            await writer.put(WEB, [(events(name), None)])
        relay.end_lost()
        while sum(named(each.body).startswith("t/") for each in found) < 4:
            found += await read(reader, found[-1].token)
    tasks = [name for name in (named(each.body) for each in found) if name.startswith("t/")]
    assert tasks == ["t/2", "t/3", "t/4", "t/5"]
    await writer.close()
    await reader.close()
