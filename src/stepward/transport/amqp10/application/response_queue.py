"""A private response queue as its reader reads it, over a link of its own: unsettled messages return with it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence

from stepward.errors import QueueRefused
from stepward.transport.amqp10.connection import Amqp10Connection
from stepward.transport.amqp10.protocol.event_dispatch import AmqpConnection
from stepward.transport.amqp10.protocol.faults import AmqpRefused
from stepward.transport.amqp10.protocol.links import Received, ReceivingLink
from stepward.transport.amqp10.service_bus.locks import Locks
from stepward.transport.amqp10.service_bus.name_owner import LOCKED
from stepward.transport.broker.swallowed_cancellation import heed_cancellation
from stepward.transport.queues.contract import QueuedMessage
from stepward.transport.queues.response_log import ResponseLog

LOOK_SECONDS = 1.0
"""Seconds between two checks that the link still stands."""
MOST_HELD = 500
"""Most unsettled broker messages that a reader holds."""
WATCHED = "watched"
"""The name, among the topics, of the copies of events for observers."""


class AmqpReading:
    """Implements ``ResponseQueue``. An observer receives the copies of events from then on."""

    def __init__(self, link: Amqp10Connection, queue: str, now: Callable[[], float], *, watches: bool) -> None:
        self._link = link
        self._queue = queue
        self._now = now
        self._watches = watches
        self._ledger: ResponseLog[Received] = ResponseLog()
        self._line: AmqpConnection | None = None
        self._receiver: ReceivingLink | None = None
        self._locks: Locks | None = None
        self._stirred = asyncio.Event()
        self._reading = asyncio.Lock()

    async def read(self, after: int, limit: int) -> Sequence[QueuedMessage]:
        async with self._reading:
            if after == 0:
                self._leave()
                self._ledger.clear()
            if self._watches:
                self._ledger.pass_over(after)
            while True:
                self._stirred.clear()
                if found := self._ledger.follows(after, limit):
                    return found
                await self._consume()
                heed_cancellation()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_SECONDS):
                        await self._stirred.wait()

    def given(self, token: int) -> QueuedMessage | None:
        return self._ledger.given(token)

    async def settle(self, tokens: Sequence[int]) -> None:
        """A lost acknowledgement lets the events come again."""
        for received in self._ledger.settle(tokens):
            received.accept()
            received.link.allow(1)

    async def close(self) -> None:
        self._leave()

    async def _consume(self) -> None:
        line = await self._link.line()
        with self._link.reaching(f"queue {self._queue}"):
            if line is self._line and self._receiver is not None and self._receiver.why is None:
                return
            self._leave()
            try:
                receiver = await self._opened(line)
            except AmqpRefused as refused:
                if refused.condition != LOCKED:
                    raise
                return  # Another reader has the session, and this one waits for its end.
            receiver.on_end = self._stirred.set
            self._line, self._receiver = line, receiver
            receiver.allow(MOST_HELD)

    async def _opened(self, line: AmqpConnection) -> ReceivingLink:
        if self._watches:
            topic = self._link.places.topic(f"{WATCHED}.{self._queue}")
            if topic is None:
                raise QueueRefused(
                    f"queue {self._queue}: expected a broker that copies events for observers, found "
                    f"{self._link.places.name}; read the events of the task from the store",
                    reason="it copies no events",
                )
            return await line.receiver(topic, self._received, is_topic=True, is_settled=True)
        place = self._link.places.application(self._queue)
        receiver = await self._link.receiver(line, place, self._received)
        if self._link.places.holds_locks:
            self._locks = Locks(line, self._queue, place, self._link.clock)
            self._locks.keep(receiver, 0.0)
        return receiver

    def _leave(self) -> None:
        receiver, self._receiver = self._receiver, None
        if self._locks is not None:
            self._locks.close()
        if receiver is not None and receiver.why is None:
            for received in tuple(receiver.unsettled):
                received.release()
            receiver.close()

    def _received(self, received: Received) -> None:
        if received.link is not self._receiver and self._receiver is not None:
            return
        if received.message.is_expired(self._now()):
            received.accept()
            received.link.allow(1)
            return
        if self._watches:
            received.accept()
            received.link.allow(1)
        ident = received.message.ident or f"{id(received.link)}/{id(received)}"
        self._ledger.add(ident, received, received.message.body)
        self._stirred.set()
