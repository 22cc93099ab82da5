"""A submission queue as this process consumes it, over a channel of its own.

The broker counts returns, and a process that dies returns all that it holds: so nothing is held beside a message that
returned. While all messages are new, many are prefetched.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Sequence

from aio_pika.abc import AbstractChannel, AbstractIncomingMessage

from stepward.errors import TransportError
from stepward.runtime.cancelling import heed_cancellation
from stepward.transport.queues.contract import QueuedMessage
from stepward.transport.queues.in_flight import InFlight
from stepward.transport.rabbitmq.application.declarations import ANSWER_SECONDS, Declarations, is_served
from stepward.transport.rabbitmq.channels import close_channel, open_channel
from stepward.transport.rabbitmq.connection import RabbitChannels

LOOK_SECONDS = 1.0
"""Seconds between two checks that the channel still stands."""
LOOKS_PER_LEASE = 4
MOST_PREFETCHED = 60_000
TRIES = "x-delivery-count"
FOREVER = float("inf")


class RabbitTaking:
    """Implements ``WorkQueue``.

    The broker has no leases, so this process itself returns messages that it held too long; those of a silent process
    return with the loss of its connection.
    """

    def __init__(self, declarations: Declarations, queue: str) -> None:
        self._declarations = declarations
        self._link = declarations.link
        self._queue = queue
        self._in_flight: InFlight[AbstractIncomingMessage] = InFlight()
        self._line: RabbitChannels | None = None
        self._channel: AbstractChannel | None = None
        self._rooms: dict[str, int] = {}
        """By consumer, the most unacknowledged messages it may have."""
        self._consumers = 0
        self._widest = 0
        """The most that one of these consumers may hold."""
        self._is_careful = True
        """Whether the last message had returned, or none came yet."""
        self._lease = 0.0
        self._looking: asyncio.Task[None] | None = None
        self._stirred = asyncio.Event()
        self._taking = asyncio.Lock()

    async def take(self, limit: int, lease: float) -> Sequence[QueuedMessage]:
        self._lease = max(lease, self._lease)
        if self._looking is None:
            self._looking = asyncio.get_running_loop().create_task(self._look())
        async with self._taking:
            while True:
                self._stirred.clear()
                if self._in_flight.has_returned and self._widest > 1:
                    await self._hold_little()
                if given := self._in_flight.give(limit, self._declarations.now(), lease):
                    self._is_careful = given[0].tries > 1
                    return given
                await self._make_room(1 if self._is_careful else min(limit, MOST_PREFETCHED))
                heed_cancellation()
                await self._stir()

    def given(self, token: int) -> QueuedMessage | None:
        return self._in_flight.given(token)

    async def settle(self, tokens: Sequence[int]) -> None:
        """A lost acknowledgement lets the message come again."""
        handles = self._in_flight.settle(tokens)
        with self._link.reaching(f"queue {self._queue}"):
            for handle in handles:
                await handle.ack()
        self._left(handles)

    async def extend(self, tokens: Sequence[int], lease: float) -> None:
        """The lease is this process's own, so only the connection must stand."""
        self._in_flight.extend(tokens, self._declarations.now() + lease)
        await self._link.line()

    async def close(self) -> None:
        """Everything held returns with the channel."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait({self._looking})
            self._looking = None
        self._in_flight.clear()
        channel, self._channel = self._channel, None
        if channel is not None:
            with contextlib.suppress(TransportError), self._link.reaching(f"queue {self._queue}"):
                await close_channel(channel)

    async def _make_room(self, window: int) -> None:
        """Ensure that the broker may send a message, and ``window`` messages at least while none returned."""
        line = await self._link.line()
        with self._link.reaching(f"queue {self._queue}"):
            channel = await self._standing(line)
            if not any(room > 0 for room in self._rooms.values()):
                # No message is on its way to these: it would count as returned.
                await self._cancel(channel)
            if not self._rooms or self._widest < window:
                await self._consume(channel, window)

    async def _standing(self, line: RabbitChannels) -> AbstractChannel:
        """The channel, opened again if the last one or one of its consumers is gone."""
        channel = self._channel
        if line is self._line and channel is not None:
            if not self._rooms and not channel.is_closed:
                return channel
            if self._rooms and all([await is_served(channel, tag) for tag in self._rooms]):
                return channel
        # Messages held over the last channel are the broker's again.
        self._in_flight.clear()
        self._rooms.clear()
        self._widest = 0
        if channel is not None and not channel.is_closed:
            await close_channel(channel)
        self._line, self._channel = line, await open_channel(line.connection)
        return self._channel

    async def _consume(self, channel: AbstractChannel, window: int) -> None:
        await channel.set_qos(prefetch_count=window, timeout=ANSWER_SECONDS)
        queue = await self._declarations.declare(self._queue, channel)
        # A reused name would receive again what is still held under it.
        self._consumers += 1
        tag = f"{self._queue}/{self._consumers}"
        self._rooms[tag] = self._widest = window
        await queue.consume(self._received, consumer_tag=tag, timeout=ANSWER_SECONDS)

    async def _hold_little(self) -> None:
        """Hold only new messages beside one that returned, because it may have crashed its last consumer."""
        self._is_careful = True
        with self._link.reaching(f"queue {self._queue}"):
            if self._channel is not None and not self._channel.is_closed:
                await self._cancel(self._channel)
            aside = [held.handle for held in self._in_flight.set_aside()]
            for handle in aside:
                await handle.reject(requeue=True)

    async def _cancel(self, channel: AbstractChannel) -> None:
        underlay = await channel.get_underlay_channel()
        for tag in tuple(self._rooms):
            await underlay.basic_cancel(tag, timeout=ANSWER_SECONDS)
        self._rooms.clear()
        self._widest = 0

    def _left(self, handles: Iterable[AbstractIncomingMessage]) -> None:
        for handle in handles:
            tag = handle.consumer_tag
            if tag is not None and tag in self._rooms:
                self._rooms[tag] += 1

    async def _received(self, message: AbstractIncomingMessage) -> None:
        if self._declarations.is_expired(message):
            await message.ack()
            return
        tag = message.consumer_tag
        if tag is not None and tag in self._rooms:
            self._rooms[tag] -= 1
        tries = message.headers.get(TRIES, 0)
        expires_at = self._declarations.expiry_of(message)
        self._in_flight.add(message, message.body, 1 + (tries if isinstance(tries, int) else 0), FOREVER, expires_at)
        self._stirred.set()

    async def _stir(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOOK_SECONDS):
                await self._stirred.wait()

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(self._lease / LOOKS_PER_LEASE)
            with contextlib.suppress(TransportError), self._link.reaching(f"queue {self._queue}"):
                handles = self._in_flight.lapsed(self._declarations.now())
                for handle in handles:
                    await handle.reject(requeue=True)
                self._left(handles)
