"""A scene whose queues are a broker's."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aio_pika
from aio_pika.exceptions import ChannelNotFoundEntity

from stepward import Queues
from stepward.client import session_of
from tests.crash.application import REPLIES
from tests.crash.scene import Scene
from tests.programs import program
from tests.transport.brokers import SERVERS, clear

APP = "crash"
NAMES = ("agents.bank", "submissions.orders", "responses.web", "letters.store")

CLAIM = f"stepward.{APP}.store"
"""The exchange that says which store has the application's name: the next test has another store."""


class BrokerScene(Scene):
    """Posts go to the broker, and the reader knows nothing else."""

    def __init__(self, folder: Path, address: str) -> None:
        super().__init__(folder, address, f"sqlite:///{folder / 'tasks.db'}")
        self.queues = Queues(address, app=APP)

    async def close(self) -> None:
        await super().close()
        await emptied(self.transport)

    async def are_carried(self) -> bool:
        """Whether no event waits in the store."""
        return not await session_of(self.client).store.messages.nonempty(REPLIES, 1)


async def address_of(broker: str) -> str:
    """A server of that broker, on which the application has left nothing."""
    if broker == "nats":
        address = await asyncio.to_thread(SERVERS.nats)
    else:
        program("rabbitmq-server", "rabbitmq-server")
        address = await asyncio.to_thread(SERVERS.rabbitmq)
    await emptied(address)
    return address


async def emptied(address: str) -> None:
    """Forget all that stands there for the application."""
    if not address.startswith("amqp"):
        await clear(address, APP)
        return
    connection = await aio_pika.connect(address)
    for name in NAMES:
        channel = await connection.channel()
        try:
            await channel.queue_delete(f"stepward.{APP}.{name}")
        except ChannelNotFoundEntity:
            continue
    await (await connection.channel()).exchange_delete(CLAIM)
    await connection.close()
