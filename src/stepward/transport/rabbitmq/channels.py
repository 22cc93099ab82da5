"""Channels of one connection, which a refusal may close without closing anything else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aio_pika.abc import AbstractChannel, AbstractConnection
from aio_pika.exceptions import ChannelNotFoundEntity

ANSWER_SECONDS = 5.0


class Publishing:
    """The channel for publishing to queues; the server closes it with some refusals, and it is opened again."""

    def __init__(self, connection: AbstractConnection) -> None:
        self._connection = connection
        self._channel: AbstractChannel | None = None
        self._opening = asyncio.Lock()

    async def channel(self) -> AbstractChannel:
        """The open channel."""
        async with self._opening:
            if self._channel is None or self._channel.is_closed:
                async with asyncio.timeout(ANSWER_SECONDS):
                    self._channel = await self._connection.channel(on_return_raises=True)
            return self._channel


@asynccontextmanager
async def own_channel(connection: AbstractConnection) -> AsyncIterator[AbstractChannel]:
    """A channel for requests that the server may refuse; closed with the block."""
    channel = await open_channel(connection)
    try:
        yield channel
    finally:
        await close_channel(channel)


async def open_channel(connection: AbstractConnection) -> AbstractChannel:
    """A channel without publisher confirms: with them the client waits for ever when a channel is lost."""
    async with asyncio.timeout(ANSWER_SECONDS):
        return await connection.channel(publisher_confirms=False)


async def close_channel(channel: AbstractChannel) -> None:
    """Close a channel, if the server answers."""
    async with asyncio.timeout(ANSWER_SECONDS):
        await channel.close()


async def exchange_is_there(connection: AbstractConnection, name: str) -> bool:
    """Whether the server has that exchange; this needs no right."""
    try:
        async with own_channel(connection) as channel:
            await channel.get_exchange(name, ensure=True)
    except ChannelNotFoundEntity:
        return False
    return True
