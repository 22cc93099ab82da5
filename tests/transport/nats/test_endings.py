"""Connections to NATS that end at an inconvenient moment."""

from __future__ import annotations

import pytest
from nats.aio.client import Client

from stepward.clock import Environment
from stepward.errors import TransportError
from stepward.events import Observers
from stepward.transport.broker.queue_names import BrokerNames
from stepward.transport.nats.address import nats_address
from stepward.transport.nats.connection import NatsConnection

pytestmark = pytest.mark.servers


async def test_a_connection_that_ends_while_it_is_made_is_not_kept(address: str) -> None:
    clients: list[Client] = []

    async def end_the_first(client: Client) -> None:
        clients.append(client)
        if len(clients) == 1:
            await client.close()

    link = NatsConnection(
        nats_address(address),
        names=BrokerNames("s"),
        opened=end_the_first,
        environment=Environment(),
        observers=Observers(),
    )
    with pytest.raises(TransportError, match="to answer, found: no answer"):
        await link.open()
    await link.open()
    assert await link.client() is clients[-1]
    await link.close()
