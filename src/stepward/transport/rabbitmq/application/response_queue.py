"""A private response queue as its reader reads it, over a channel of its own: unsettled messages return with it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

from aio_pika.abc import AbstractChannel, AbstractIncomingMessage

from stepward.errors import TransportError
from stepward.transport.broker.swallowed_cancellation import heed_cancellation
from stepward.transport.queues.contract import QueuedMessage
from stepward.transport.queues.response_log import ResponseLog
from stepward.transport.rabbitmq.application.declarations import ANSWER_SECONDS, Declarations, is_served
from stepward.transport.rabbitmq.channels import close_channel, open_channel
from stepward.transport.rabbitmq.connection import RabbitChannels

LOOK_SECONDS = 1.0
"""Seconds between two checks that the channel still stands."""
PREFETCHED = 500
"""Most unsettled broker messages that a reader receives."""


class RabbitReading:
    """Implements ``ResponseQueue``. An observer has a queue of its own, with copies of events from then on."""

    def __init__(self, declarations: Declarations, queue: str, *, watches: bool) -> None:
        self._declarations = declarations
        self._link = declarations.link
        self._queue = queue
        self._watches = watches
        self._ledger: ResponseLog[AbstractIncomingMessage] = ResponseLog()
        self._line: RabbitChannels | None = None
        self._channel: AbstractChannel | None = None
        self._tag: str | None = None
        self._stirred = asyncio.Event()
        self._reading = asyncio.Lock()

    async def read(self, after: int, limit: int) -> Sequence[QueuedMessage]:
        async with self._reading:
            if after == 0:
                await self._leave()
                self._ledger.clear()
            if self._watches:
                await self._pass_over(after)
            while True:
                self._stirred.clear()
                if found := self._ledger.follows(after, limit):
                    return found
                await self._consume()
                heed_cancellation()
                await self._stir()

    def given(self, token: int) -> QueuedMessage | None:
        return self._ledger.given(token)

    async def settle(self, tokens: Sequence[int]) -> None:
        """A lost acknowledgement lets the events come again."""
        with self._link.reaching(f"queue {self._queue}"):
            for handle in self._ledger.settle(tokens):
                await handle.ack()

    async def close(self) -> None:
        await self._leave()

    async def _consume(self) -> None:
        line = await self._link.line()
        with self._link.reaching(f"queue {self._queue}"):
            channel = self._channel
            if line is self._line and channel is not None and await is_served(channel, self._tag):
                return
            await self._leave()
            channel = await open_channel(line.connection)
            self._line, self._channel = line, channel
            await channel.set_qos(prefetch_count=PREFETCHED, timeout=ANSWER_SECONDS)
            declare = self._declarations.declare_copy if self._watches else self._declarations.declare
            consumed = await declare(self._queue, channel)
            self._tag = await consumed.consume(self._received, timeout=ANSWER_SECONDS)

    async def _pass_over(self, last: int) -> None:
        # Messages of a lost connection come again over the next one.
        with contextlib.suppress(TransportError), self._link.reaching(f"queue {self._queue}"):
            for handle in self._ledger.pass_over(last):
                await handle.ack()

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
        self._ledger.add(ident, message, message.body)
        self._stirred.set()

    async def _stir(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOOK_SECONDS):
                await self._stirred.wait()
