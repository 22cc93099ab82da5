"""Connections to NATS that end at an inconvenient moment."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import pytest
from nats.aio.client import Client

from stepward.clock import Environment
from stepward.errors import TransportError
from stepward.events import Observers
from stepward.transport.broker.queue_names import BrokerNames
from stepward.transport.nats.address import nats_address
from stepward.transport.nats.connection import NatsConnection
from tests.faults.wires import Wire
from tests.until import until

pytestmark = pytest.mark.servers


def connection(address: str, opened: Callable[[Client], Awaitable[None]]) -> NatsConnection:
    """A connection that is not open yet."""
    return NatsConnection(
        nats_address(address),
        names=BrokerNames("s"),
        opened=opened,
        environment=Environment(),
        observers=Observers(),
    )


async def test_a_connection_that_ends_while_it_is_made_is_not_kept(address: str) -> None:
    clients: list[Client] = []

    async def end_the_first(client: Client) -> None:
        clients.append(client)
        if len(clients) == 1:
            await client.close()

    link = connection(address, end_the_first)
    with pytest.raises(TransportError, match="to answer, found: no answer"):
        await link.open()
    await link.open()
    assert await link.client() is clients[-1]
    await link.close()


async def test_a_close_that_is_cancelled_ends_the_connection(address: str) -> None:
    """An application that fails in two of its stores at once cancels the close of one of them."""
    opened: list[Client] = []

    async def keep(client: Client) -> None:
        opened.append(client)

    host, _, port = address.rpartition(":")
    async with Wire(int(port)) as wire:
        link = connection(f"{host}:{wire.port}", keep)
        await link.open()
        closing = asyncio.create_task(link.close())
        while not opened[0].is_closed:  # noqa: ASYNC110  the client yields once in its close: no interval finds it there
            await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        await until(partial(count, wire), lambda connections: connections == 0)


async def count(wire: Wire) -> int:
    """The connections that are open."""
    return wire.open_connections
