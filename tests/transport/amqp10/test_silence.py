"""A connection over AMQP 1.0 whose broker is silent."""

from __future__ import annotations

import asyncio

import pytest

from servers.rabbitmq import RabbitServer
from stepward.transport.amqp10.protocol.connection import AmqpConnection
from stepward.transport.amqp10.protocol.faults import AmqpFault
from stepward.transport.amqp10.protocol.socket_driver import Login
from tests.faults.wires import Wire
from tests.until import until

pytestmark = pytest.mark.servers

BOUND = 20.0


async def test_a_silent_connection_is_given_up_with_its_socket(rabbit: RabbitServer) -> None:
    """A broker that goes on would give half of a queue's messages to it, and notice its end late."""
    given_up: asyncio.Future[AmqpFault] = asyncio.get_running_loop().create_future()
    async with Wire(rabbit.port) as wire, asyncio.timeout(BOUND):
        login = Login("silence", "127.0.0.1", "guest", "guest", idle_seconds=0.5)
        await AmqpConnection.connect("127.0.0.1", wire.port, login, tls=None, on_lost=given_up.set_result)
        assert wire.hang() == 1

        async def open_connections() -> int:
            return wire.open_connections

        await given_up
        await until(open_connections, lambda count: count == 0)
