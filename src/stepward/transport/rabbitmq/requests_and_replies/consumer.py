"""One queue as this process consumes it, over a channel of its own, prefetching no more than it has room for."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from aio_pika.abc import AbstractChannel, AbstractIncomingMessage, AbstractQueue
from aio_pika.exceptions import ChannelNotFoundEntity
from aiormq.abc import AbstractChannel as Carrying

from stepward.errors import TransportError
from stepward.transport.broker.consuming.consumer import Consumer
from stepward.transport.broker.consuming.local_leases import LOOK_SECONDS, LocalLeases
from stepward.transport.rabbitmq.channels import ANSWER_SECONDS, close_channel, open_channel
from stepward.transport.rabbitmq.connection import RabbitChannels, RabbitConnection
from stepward.transport.rabbitmq.requests_and_replies.publisher import RETURNED
from stepward.transport.rabbitmq.requests_and_replies.queue_declarations import QueueDeclarations

MOST_PREFETCHED = 60_000


class RabbitHandle(NamedTuple):
    """The broker's id of a delivery: channel and delivery tag."""

    carrying: Carrying
    tag: int


class RabbitSource(LocalLeases[RabbitHandle]):
    """Prefetches as many messages as callers have asked for."""

    def __init__(
        self,
        link: RabbitConnection,
        queues: QueueDeclarations,
        queue: str,
        intake: Consumer[RabbitHandle],
        now: Callable[[], float],
    ) -> None:
        super().__init__(queue, intake, now)
        self._link = link
        self._queues = queues
        self._line: RabbitChannels | None = None
        self._channel: AbstractChannel | None = None
        self._carrying: Carrying | None = None
        """The number of the channel, part of each delivery's id."""
        self._consumed: AbstractQueue | None = None
        self._tag: str | None = None
        self._prefetch = 0
        self._unsettled: set[RabbitHandle] = set()
        """Deliveries of the present channel that the broker counts as unacknowledged."""
        self._is_deleted = False

    async def _request(self, limit: int) -> float:
        line = await self._link.line()
        with self._link.reaching(f"queue {self._queue}"):
            try:
                await self._ready(line, limit)
            except ChannelNotFoundEntity:
                # The queue was deleted after its declaration, and the channel closed with it.
                await self._ready(line, limit)
        return LOOK_SECONDS

    async def _pause(self) -> None:
        tag, self._tag = self._tag, None
        if tag is not None and self._consumed is not None:
            with self._link.reaching(f"queue {self._queue}"):
                await self._consumed.cancel(tag, timeout=ANSWER_SECONDS)

    async def acknowledge(self, handles: Sequence[RabbitHandle]) -> None:
        """Acknowledges without waiting: after a lost acknowledgement the message comes again and is acknowledged
        again."""
        with self._link.reaching(f"queue {self._queue}"):
            async with asyncio.timeout(ANSWER_SECONDS):
                for handle in self._ours(handles):
                    await handle.carrying.basic_ack(handle.tag, wait=False)

    async def extend(self, handles: Sequence[RabbitHandle], lease: float) -> None:
        """The lease is the intake's own, so only the connection must stand."""
        await self._link.line()

    async def refuse(self, handles: Sequence[RabbitHandle]) -> None:
        with self._link.reaching(f"queue {self._queue}"):
            async with asyncio.timeout(ANSWER_SECONDS):
                for handle in self._ours(handles):
                    await handle.carrying.basic_reject(handle.tag, requeue=True, wait=False)

    async def _stop(self) -> None:
        channel, self._channel, self._tag = self._channel, None, None
        if channel is not None:
            with contextlib.suppress(TransportError), self._link.reaching(f"queue {self._queue}"):
                await close_channel(channel)

    async def _ready(self, line: RabbitChannels, limit: int) -> None:
        """Let the broker send up to ``limit`` further messages."""
        channel = self._channel
        if line is not self._line or channel is None or channel.is_closed or self._is_deleted:
            channel = await self._open(line)
        wanted = min(len(self._unsettled) + limit, MOST_PREFETCHED)
        if self._tag is None or wanted > self._prefetch:
            await self._consume(channel, max(wanted, self._prefetch))

    async def _open(self, line: RabbitChannels) -> AbstractChannel:
        if self._is_deleted and self._channel is not None:
            await close_channel(self._channel)
        await self._queues.renew(self._queue, line)
        channel = await open_channel(line.connection)
        self._carrying = await channel.get_underlay_channel()
        self._carrying.on_consumer_cancel_callbacks.add(self._deleted)
        self._line, self._channel, self._tag, self._prefetch = line, channel, None, 0
        self._unsettled.clear()
        self._is_deleted = False
        self._consumed = await channel.get_queue(self._queues.name(self._queue), ensure=False)
        return channel

    async def _consume(self, channel: AbstractChannel, prefetch: int) -> None:
        await self._pause()
        await channel.set_qos(prefetch_count=prefetch, timeout=ANSWER_SECONDS)
        self._prefetch = prefetch
        if self._consumed is not None and self._carrying is not None:
            received = partial(self._received, self._carrying)
            self._tag = await self._consumed.consume(received, timeout=ANSWER_SECONDS)

    def _ours(self, handles: Sequence[RabbitHandle]) -> Iterator[RabbitHandle]:
        """The handles that are still unacknowledged at the broker: deliveries of a closed channel have been
        returned."""
        for handle in handles:
            if handle in self._unsettled:
                self._unsettled.remove(handle)
                yield handle

    async def _received(self, carrying: Carrying, message: AbstractIncomingMessage) -> None:
        if message.delivery_tag is None or carrying is not self._carrying:
            return
        handle = RabbitHandle(carrying, message.delivery_tag)
        self._unsettled.add(handle)
        ident = message.message_id or f"{id(carrying)}/{handle.tag}"
        again = bool(message.redelivered) or RETURNED in message.headers
        self._arrived(ident, handle, message.body, again=again)

    async def _deleted(self, _: object) -> None:
        """The queue was deleted with all its messages, taken or not."""
        self._is_deleted = True
        self._intake.forget()
        self._intake.stir()
        await self._queues.broadcast_loss(self._queue)
