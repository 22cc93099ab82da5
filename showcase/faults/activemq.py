"""ActiveMQ from the outside: a look at all that is sent to the shop's queues, which its server copies for that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from urllib.parse import urlsplit

from servers.activemq import WATCHED
from showcase.faults.looking_on import looking_on
from showcase.faults.traffic import Traffic

CONNECT_SECONDS = 5.0
CREDIT = 500
"""Most copies on their way at once."""


@asynccontextmanager
async def looking(address: str, traffic: Traffic) -> AsyncIterator[None]:
    """Have `traffic` note all that is sent inside; what is copied while no one is connected waits."""
    from stepward.transport.amqp10.protocol.faults import AmqpFault  # noqa: PLC0415  an extra's

    async with looking_on(partial(_look, address, traffic), (AmqpFault, OSError, TimeoutError)):
        yield


async def _look(address: str, traffic: Traffic, connected: asyncio.Event) -> None:
    """Look on until the connection ends."""
    from stepward.transport.amqp10.protocol.connection import AmqpConnection  # noqa: PLC0415  an extra's
    from stepward.transport.amqp10.protocol.links import Received  # noqa: PLC0415  an extra's
    from stepward.transport.amqp10.protocol.socket_driver import Login  # noqa: PLC0415  an extra's

    def note(received: Received) -> None:
        traffic.note(received.message.body)
        received.accept()
        received.link.allow(1)

    parts = urlsplit(address)
    host, port = parts.hostname or "", parts.port or 0
    login = Login("orders-demo", host, parts.username or "", parts.password or "")
    ended = asyncio.Event()
    async with asyncio.timeout(CONNECT_SECONDS):
        line = await AmqpConnection.connect(host, port, login, tls=None, on_lost=lambda _: ended.set())
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            receiver = await line.receiver(WATCHED, note)
        receiver.allow(CREDIT)
        connected.set()
        await ended.wait()
    finally:
        line.abort()
