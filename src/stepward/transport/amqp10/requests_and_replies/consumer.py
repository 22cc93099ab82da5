"""One queue as this process receives from it, over a link of its own, with credit for no more than it has room for."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

from stepward.errors import QueueRefused, TransportError
from stepward.transport.amqp10.connection import Amqp10Connection
from stepward.transport.amqp10.protocol.connection import AmqpConnection
from stepward.transport.amqp10.protocol.faults import AmqpRefused
from stepward.transport.amqp10.protocol.links import Received, ReceivingLink
from stepward.transport.amqp10.protocol.messages import RETURNED, Sent
from stepward.transport.amqp10.service_bus.locks import Locks
from stepward.transport.amqp10.service_bus.name_owner import LOCKED
from stepward.transport.broker.consuming.consumer import Consumer
from stepward.transport.broker.consuming.local_leases import LOOK_SECONDS, LocalLeases
from stepward.transport.wire.wire_events import BATCH

LOCKED_SECONDS = 0.5
"""Seconds before another try to take a session that another process has."""
MOST_CREDIT = 10_000


class AmqpSource(LocalLeases[Received]):
    """Messages of a silent process also return at the end of the broker's lock, where it has locks."""

    def __init__(
        self, link: Amqp10Connection, queue: str, intake: Consumer[Received], now: Callable[[], float]
    ) -> None:
        super().__init__(queue, intake, now)
        self._link = link
        self._line: AmqpConnection | None = None
        self._receiver: ReceivingLink | None = None
        self._locks: Locks | None = None
        self._refused: QueueRefused | None = None

    async def _request(self, limit: int) -> float:
        line = await self._link.line()
        if self._refused is not None:
            refused, self._refused = self._refused, None
            raise refused
        with self._link.reaching(f"queue {self._queue}"):
            try:
                receiver = await self._ready(line)
            except AmqpRefused as refused:
                if refused.condition != LOCKED:
                    raise
                return LOCKED_SECONDS
            receiver.allow(min(limit, MOST_CREDIT) - receiver.credit)
        return LOOK_SECONDS

    async def _pause(self) -> None:
        if self._receiver is not None:
            self._receiver.withdraw()

    async def acknowledge(self, handles: Sequence[Received]) -> None:
        """Acknowledges without waiting: after a lost acknowledgement the message comes again and is acknowledged
        again."""
        for handle in handles:
            handle.accept()

    async def extend(self, handles: Sequence[Received], lease: float) -> None:
        """The lease is the intake's own, so only the connection must stand, and the broker's locks if it has any."""
        await self._link.line()
        if self._locks is not None:
            with self._link.reaching(f"queue {self._queue}"):
                await self._locks.renew(handles)

    async def refuse(self, handles: Sequence[Received]) -> None:
        """Where a released message stays with its link, it is put again; a crash in between puts it there twice."""
        held = [handle for handle in handles if handle.link.why is None]
        if held and not self._link.places.returns_released:
            again = [Sent(each.message.body, each.message.ident, BATCH, properties={RETURNED: True}) for each in held]
            with contextlib.suppress(TransportError):
                await self._link.send(f"queue {self._queue}", self._link.places.requests(self._queue), again)
                await self.acknowledge(held)
                return
        for handle in held:
            handle.release()

    async def _stop(self) -> None:
        receiver, self._receiver = self._receiver, None
        if self._locks is not None:
            self._locks.close()
        if receiver is not None and receiver.why is None:
            for received in tuple(receiver.unsettled):
                received.release()
            receiver.close()

    async def _ready(self, line: AmqpConnection) -> ReceivingLink:
        receiver = self._receiver
        if line is not self._line or receiver is None or receiver.why is not None:
            place = self._link.places.requests(self._queue)
            receiver = await self._link.receiver(line, place, self._received)
            receiver.on_end = self._intake.stir
            self._line, self._receiver = line, receiver
            if self._link.places.holds_locks:
                if self._locks is not None:
                    self._locks.close()
                self._locks = Locks(line, self._queue, place, self._link.clock)
                self._locks.keep(receiver, self._lease)
        return receiver

    def _received(self, received: Received) -> None:
        message = received.message
        if self._locks is not None:
            try:
                self._locks.check(received, self._lease)
            except QueueRefused as refused:
                self._refused = refused
                # Each release counts as a delivery: it must not come again until the next ask.
                received.link.withdraw()
                received.release()
                self._intake.stir()
                return
        ident = message.ident or f"{id(received.link)}/{id(received)}"
        self._arrived(ident, received, message.body, again=message.is_returned)
