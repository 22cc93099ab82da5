"""What travels over a real broker, copied without taking a message."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import aio_pika
import nats
from aio_pika.abc import AbstractIncomingMessage
from nats.aio.msg import Msg

from tests.transport.wire.described import Tapped

BOUND = 120.0


class Tap(list[Tapped]):
    """Everything of one application, in the order of arrival."""

    def __init__(self) -> None:
        super().__init__()
        self._changed = asyncio.Event()

    def hear(self, address: str, body: bytes, content_type: str | None = None) -> None:
        self.append(Tapped(address, body, content_type))
        self._changed.set()

    async def until(self, what: Callable[[Tapped], bool]) -> Tapped:
        """Wait for the first message that is so."""
        looked_at = 0
        async with asyncio.timeout(BOUND):
            while True:
                for tapped in self[looked_at:]:
                    if what(tapped):
                        return tapped
                looked_at = len(self)
                self._changed.clear()
                await self._changed.wait()


@asynccontextmanager
async def tapped_nats(address: str, app: str) -> AsyncIterator[Tap]:
    """All that is published on the subjects of an application."""
    tap = Tap()

    async def hear(message: Msg) -> None:
        tap.hear(message.subject, message.data)

    client = await nats.connect(address)
    try:
        await client.subscribe(f"stepward.{app}.>", cb=hear)
        await client.flush()
        yield tap
    finally:
        await client.close()


@asynccontextmanager
async def tapped_rabbitmq(address: str, app: str) -> AsyncIterator[Tap]:
    """All that is published to the queues of an application and to its exchange, on a server that is traced."""
    tap = Tap()
    told = f"stepward.{app}.told"

    async def hear(message: AbstractIncomingMessage) -> None:
        exchange = (message.routing_key or "").removeprefix("publish.")
        # AMQP 1.0 has its broadcasts at the exchange of topics, and there the copies for observers, too.
        keys = message.headers.get("routing_keys") if exchange in ("", "amq.topic") else [exchange]
        queues = keys if exchange == "" or keys in ([told], [told.encode()]) else []
        said = message.headers.get("properties")
        content_type = str(said.get("content_type", "none")) if isinstance(said, dict) else "none"
        for queue in queues if isinstance(queues, list) else []:
            # The record of the store that owns the application's name is no event.
            if str(queue).startswith(f"stepward.{app}.") and not str(queue).endswith(".store"):
                tap.hear(str(queue), message.body, content_type)

    connection = await aio_pika.connect(address)
    try:
        channel = await connection.channel()
        queue = await channel.declare_queue(exclusive=True)
        await queue.bind("amq.rabbitmq.trace", "publish.#")
        await queue.consume(hear, no_ack=True)
        yield tap
    finally:
        await connection.close()
