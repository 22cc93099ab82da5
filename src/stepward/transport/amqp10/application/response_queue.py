"""A private response queue as its reader reads it, over a link of its own: unsettled messages return with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stepward.errors import QueueRefused
from stepward.transport.amqp10.application.event_order import EventOrder
from stepward.transport.amqp10.connection import Amqp10Connection
from stepward.transport.amqp10.protocol.connection import AmqpConnection
from stepward.transport.amqp10.protocol.faults import AmqpRefused
from stepward.transport.amqp10.protocol.links import Received, ReceivingLink
from stepward.transport.amqp10.service_bus.locks import Locks
from stepward.transport.amqp10.service_bus.name_owner import LOCKED
from stepward.transport.queues.pushed_responses import MOST_HELD, PushedResponses
from stepward.transport.queues.response_log import MOST_TOGETHER

WATCHED = "watched"
"""The name, among the topics, of the copies of events for observers."""

MOST_EVENTS = MOST_HELD * MOST_TOGETHER
"""Most unsettled events of a reader."""


class AmqpReading(PushedResponses[Received]):
    """An observer receives the copies of events from then on."""

    def __init__(self, link: Amqp10Connection, queue: str, now: Callable[[], float], *, watches: bool) -> None:
        super().__init__(queue, watches=watches)
        self._link = link
        self._now = now
        self._line: AmqpConnection | None = None
        self._receiver: ReceivingLink | None = None
        self._locks: Locks | None = None
        self._order: EventOrder[tuple[str, Received, bytes]] = EventOrder(link.clock.boot)

    async def _acknowledge(self, handles: Sequence[Received]) -> None:
        for received in handles:
            received.accept()
            received.link.allow(1)

    async def _pass_over(self, handles: Sequence[Received]) -> None:
        """Copies for observers are accepted when they arrive."""

    async def _consume(self) -> None:
        line = await self._link.line()
        with self._link.reaching(f"queue {self._queue}"):
            if line is self._line and self._receiver is not None and self._receiver.why is None:
                self._add_all(self._order.overdue())
                return
            await self._leave()
            try:
                receiver = await self._opened(line)
            except AmqpRefused as refused:
                if refused.condition != LOCKED:
                    raise
                return  # Another reader has the session, and this one waits for its end.
            receiver.on_end = self._stirred.set
            self._line, self._receiver = line, receiver
            self._order.opened()
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

    async def _leave(self) -> None:
        receiver, self._receiver = self._receiver, None
        if receiver is not None:
            self._order.left(each.body for each in self._ledger.follows(0, MOST_EVENTS))
        if self._locks is not None:
            self._locks.close()
        if receiver is not None and receiver.why is None:
            for received in tuple(receiver.unsettled):
                received.release()
            receiver.close()

    def _received(self, received: Received) -> None:
        if received.message.is_expired(self._now()):
            received.accept()
            received.link.allow(1)
            return
        if self._watches:
            received.accept()
            received.link.allow(1)
        ident = received.message.ident or f"{id(received.link)}/{id(received)}"
        message = ident, received, received.message.body
        in_order = self._watches or self._link.places.holds_locks
        self._add_all([message] if in_order else self._order.arrived(received.message.body, message))

    def _add_all(self, messages: Sequence[tuple[str, Received, bytes]]) -> None:
        for message in messages:
            self._add(*message)
