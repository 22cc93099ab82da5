"""A private response queue as its reader reads it, over a channel of its own: unsettled messages return with it."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from aio_pika.abc import AbstractChannel, AbstractIncomingMessage

from stepward.errors import TransportError
from stepward.transport.queues.pushed_responses import MOST_HELD, PushedResponses
from stepward.transport.rabbitmq.application.declarations import ANSWER_SECONDS, Declarations, is_served
from stepward.transport.rabbitmq.application.event_copies import declare_copy
from stepward.transport.rabbitmq.channels import close_channel, open_channel
from stepward.transport.rabbitmq.connection import RabbitChannels


class RabbitReading(PushedResponses[AbstractIncomingMessage]):
    """An observer has a queue of its own, with copies of events from then on."""

    def __init__(self, declarations: Declarations, queue: str, *, watches: bool) -> None:
        super().__init__(queue, watches=watches)
        self._declarations = declarations
        self._link = declarations.link
        self._line: RabbitChannels | None = None
        self._channel: AbstractChannel | None = None
        self._tag: str | None = None

    async def _acknowledge(self, handles: Sequence[AbstractIncomingMessage]) -> None:
        with self._link.reaching(f"queue {self._queue}"):
            for handle in handles:
                await handle.ack()

    async def _pass_over(self, handles: Sequence[AbstractIncomingMessage]) -> None:
        await self._acknowledge(handles)

    async def _consume(self) -> None:
        line = await self._link.line()
        with self._link.reaching(f"queue {self._queue}"):
            channel = self._channel
            if line is self._line and channel is not None and await is_served(channel, self._tag):
                return
            await self._leave()
            channel = await open_channel(line.connection)
            self._line, self._channel = line, channel
            await channel.set_qos(prefetch_count=MOST_HELD, timeout=ANSWER_SECONDS)
            if self._watches:
                consumed = await declare_copy(self._declarations, self._queue, channel)
            else:
                consumed = await self._declarations.declare(self._queue, channel)
            self._tag = await consumed.consume(self._received, timeout=ANSWER_SECONDS)

    async def _leave(self) -> None:
        channel, self._channel, self._tag = self._channel, None, None
        if channel is not None:
            with contextlib.suppress(TransportError), self._link.reaching(f"queue {self._queue}"):
                await close_channel(channel)

    async def _received(self, message: AbstractIncomingMessage) -> None:
        if self._declarations.is_expired(message):
            await message.ack()
            return
        ident = message.message_id or f"{id(self._channel)}/{message.delivery_tag}"
        self._add(ident, message, message.body)
