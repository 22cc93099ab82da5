"""One queue as this process receives from it, over a link of its own, with credit for no more than it has room for."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence

from stepward.errors import QueueRefused, TransportError
from stepward.transport.amqp10.connection import Amqp10Connection
from stepward.transport.amqp10.protocol.event_dispatch import AmqpConnection
from stepward.transport.amqp10.protocol.faults import AmqpRefused
from stepward.transport.amqp10.protocol.links import Received, ReceivingLink
from stepward.transport.amqp10.service_bus.locks import Locks
from stepward.transport.amqp10.service_bus.name_owner import LOCKED
from stepward.transport.broker.consumer import Consumer

LOOK_SECONDS = 5.0
LOCKED_SECONDS = 0.5
"""Seconds before another try to take a session that another process has."""
LOOKS_PER_LEASE = 4
MOST_CREDIT = 10_000


class AmqpSource:
    """Feeds an intake while a caller waits.

    Leases are this process's own: it returns messages that it held too long. Those of a silent process return with the
    loss of its connection, or at the end of the broker's lock.
    """

    def __init__(
        self, link: Amqp10Connection, queue: str, intake: Consumer[Received], now: Callable[[], float]
    ) -> None:
        self._link = link
        self._queue = queue
        self._intake = intake
        self._now = now
        self._line: AmqpConnection | None = None
        self._receiver: ReceivingLink | None = None
        self._locks: Locks | None = None
        self._refused: QueueRefused | None = None
        self._lease = 0.0
        self._asking = asyncio.Lock()
        self._looking: asyncio.Task[None] | None = None

    async def ask(self, limit: int, lease: float) -> float:
        async with self._asking:
            line = await self._link.line()
            self._lease = max(lease, self._lease)
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
        if self._looking is None:
            self._looking = asyncio.get_running_loop().create_task(self._look())
        return LOOK_SECONDS

    async def rest(self) -> None:
        async with self._asking:
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
        for handle in handles:
            handle.release()

    async def leave(self) -> None:
        """Return everything that was taken, and stop receiving."""
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None
        async with self._asking:
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
        self._intake.arrived(ident, received, message.body, self._now() + self._lease, again=message.is_returned)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(self._lease / LOOKS_PER_LEASE)
            with contextlib.suppress(TransportError):
                await self._intake.refuse_lapsed()
            self._intake.prune()
