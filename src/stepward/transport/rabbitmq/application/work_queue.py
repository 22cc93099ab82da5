"""A submission queue as this process takes from it, over a channel of its own.

The broker counts what returns to it, and a process that dies returns all that it holds: so that none is taken along
with one that returned, nothing is held beside that. As long as all is fresh many are sent at once.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Sequence

from aio_pika.abc import AbstractChannel, AbstractIncomingMessage

from stepward.errors import TransportError
from stepward.transport.broker.cancellation import heed_cancellation
from stepward.transport.queues.contract import QueuedMessage
from stepward.transport.queues.in_flight import InFlight
from stepward.transport.rabbitmq.application.declarations import ANSWER_SECONDS, Declarations, is_served
from stepward.transport.rabbitmq.channels import close_channel, open_channel
from stepward.transport.rabbitmq.connection import RabbitChannels

LOOK_SECONDS = 1.0
"""How often whoever waits looks whether its channel still stands."""
LOOKS_PER_LEASE = 4
MOST_PREFETCHED = 60_000
TRIES = "x-delivery-count"
FOREVER = float("inf")


class RabbitTaking:
    """Implements ``WorkQueue``.

    The broker leases nothing, so that this process itself gives back what it held too long; what a process held that
    is silent returns with the loss of its connection.
    """

    def __init__(self, declarations: Declarations, queue: str) -> None:
        self._declarations = declarations
        self._link = declarations.link
        self._queue = queue
        self._in_flight: InFlight[AbstractIncomingMessage] = InFlight()
        self._line: RabbitChannels | None = None
        self._channel: AbstractChannel | None = None
        self._rooms: dict[str, int] = {}
        """By consumer, how many messages the broker may send it before it hears what became of others."""
        self._consumers = 0
        self._widest = 0
        """The most that a consumer of these may hold."""
        self._is_careful = True
        """Whether the last message had returned, or nobody knows yet."""
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
        """An acknowledgement that is lost lets the message come again."""
        handles = self._in_flight.settle(tokens)
        with self._link.reaching(f"queue {self._queue}"):
            for handle in handles:
                await handle.ack()
        self._left(handles)

    async def extend(self, tokens: Sequence[int], lease: float) -> None:
        """It is this process that counts, and the connection must stand."""
        self._in_flight.extend(tokens, self._declarations.now() + lease)
        await self._link.line()

    async def close(self) -> None:
        """All that is held returns with the channel."""
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
        """Ensures that the broker may send something, and ``window`` messages at least if all is well."""
        line = await self._link.line()
        with self._link.reaching(f"queue {self._queue}"):
            channel = await self._standing(line)
            if not any(room > 0 for room in self._rooms.values()):
                # Nothing is on its way to these: else it would count as returned.
                await self._cancel(channel)
            if not self._rooms or self._widest < window:
                await self._consume(channel, window)

    async def _standing(self, line: RabbitChannels) -> AbstractChannel:
        """The channel, opened anew where the last one or a consumer of it is gone."""
        channel = self._channel
        if line is self._line and channel is not None:
            if not self._rooms and not channel.is_closed:
                return channel
            if self._rooms and all([await is_served(channel, tag) for tag in self._rooms]):
                return channel
        # What was held over the last channel is the broker's again.
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
        # A name that was used before would be given again what is still held under it.
        self._consumers += 1
        tag = f"{self._queue}/{self._consumers}"
        self._rooms[tag] = self._widest = window
        await queue.consume(self._heard, consumer_tag=tag, timeout=ANSWER_SECONDS)

    async def _hold_little(self) -> None:
        """Something returned, which may be what ended its last taker: hold nothing beside it but what is fresh."""
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

    async def _heard(self, message: AbstractIncomingMessage) -> None:
        if self._declarations.is_expired(message):
            await message.ack()
            return
        tag = message.consumer_tag
        if tag is not None and tag in self._rooms:
            self._rooms[tag] -= 1
        tries = message.headers.get(TRIES, 0)
        self._in_flight.add(message, message.body, 1 + (tries if isinstance(tries, int) else 0), FOREVER)
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
