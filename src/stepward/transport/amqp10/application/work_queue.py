"""A submission queue as this process takes from it, over a link of its own.

The protocol's count of deliveries is optional, and RabbitMQ does not keep it: a message that returned is put into the
queue again with its count, and then it is new there. A process that dies returns all that it holds: so nothing is held
beside a message that returned. While all messages are new, many are taken at once.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence

from stepward.errors import TransportError
from stepward.runtime.cancelling import heed_cancellation
from stepward.transport.amqp10.connection import Amqp10Connection
from stepward.transport.amqp10.protocol.connection import AmqpConnection
from stepward.transport.amqp10.protocol.links import Received, ReceivingLink
from stepward.transport.amqp10.protocol.messages import EXPIRES, TRIES, Sent
from stepward.transport.amqp10.service_bus.locks import Locks
from stepward.transport.queues.contract import QueuedMessage
from stepward.transport.queues.in_flight import InFlight
from stepward.transport.wire.wire_events import SINGLE

LOOK_SECONDS = 1.0
"""Seconds between two checks that the link still stands."""
LOOKS_PER_LEASE = 4
MOST_CREDIT = 10_000
FOREVER = float("inf")


class AmqpTaking:
    """Implements ``WorkQueue``; ``now`` is the store's clock.

    Leases are this process's own: it returns messages that it held too long. Those of a silent process return with the
    loss of its connection, or at the end of the broker's lock.
    """

    def __init__(
        self, link: Amqp10Connection, queue: str, now: Callable[[], float], new_uid: Callable[[], str]
    ) -> None:
        self._link = link
        self._queue = queue
        self._now = now
        self._new_uid = new_uid
        self._in_flight: InFlight[Received] = InFlight()
        self._line: AmqpConnection | None = None
        self._receiver: ReceivingLink | None = None
        self._locks: Locks | None = None
        self._is_careful = True
        """Whether the last message had returned, or none came yet."""
        self._lease = 0.0
        self._looking: asyncio.Task[None] | None = None
        self._putting_back: set[asyncio.Task[None]] = set()
        self._stirred = asyncio.Event()
        self._taking = asyncio.Lock()

    async def take(self, limit: int, lease: float) -> Sequence[QueuedMessage]:
        self._lease = max(lease, self._lease)
        if self._looking is None:
            self._looking = asyncio.get_running_loop().create_task(self._look())
        async with self._taking:
            while True:
                self._stirred.clear()
                if given := self._in_flight.give(limit, self._now(), lease):
                    self._is_careful = given[0].tries > 1
                    return given
                await self._make_room(1 if self._is_careful else min(limit, MOST_CREDIT))
                heed_cancellation()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_SECONDS):
                        await self._stirred.wait()

    def given(self, token: int) -> QueuedMessage | None:
        return self._in_flight.given(token)

    async def settle(self, tokens: Sequence[int]) -> None:
        """A lost acknowledgement lets the message come again."""
        for received in self._in_flight.settle(tokens):
            received.accept()

    async def extend(self, tokens: Sequence[int], lease: float) -> None:
        """The lease is this process's own, so only the connection must stand, and the broker's locks if it has any."""
        handles = self._in_flight.extend(tokens, self._now() + lease)
        await self._link.line()
        if self._locks is not None:
            with self._link.reaching(f"queue {self._queue}"):
                await self._locks.renew(handles)

    async def close(self) -> None:
        """Everything held returns."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait({self._looking})
            self._looking = None
        if self._putting_back:
            await asyncio.wait(self._putting_back)
        self._in_flight.clear()
        receiver, self._receiver = self._receiver, None
        if receiver is not None and receiver.why is None:
            for received in tuple(receiver.unsettled):
                received.release()
            receiver.close()

    async def _make_room(self, window: int) -> None:
        """Let the broker send a message, or ``window`` messages while none returned."""
        line = await self._link.line()
        with self._link.reaching(f"queue {self._queue}"):
            receiver = self._receiver
            if line is not self._line or receiver is None or receiver.why is not None:
                # Messages held over the last link are the broker's again.
                self._in_flight.clear()
                place = self._link.places.application(self._queue)
                receiver = await self._link.receiver(line, place, self._received)
                receiver.on_end = self._stirred.set
                self._line, self._receiver = line, receiver
                if self._link.places.holds_locks:
                    self._locks = Locks(line, self._queue, place, self._link.clock)
            receiver.allow(window - receiver.credit)

    def _received(self, received: Received) -> None:
        message = received.message
        if message.is_expired(self._now()):
            received.accept()
            return
        if message.deliveries:
            self._return(received, message.tries, credit=1)
            return
        self._in_flight.add(received, message.body, 1 + message.tries, FOREVER, message.expiry(self._now()))
        self._stirred.set()

    def _return(self, received: Received, tries: int, *, credit: int = 0) -> None:
        task = asyncio.get_running_loop().create_task(self._put_back(received, tries, credit))
        self._putting_back.add(task)
        task.add_done_callback(self._putting_back.discard)

    async def _put_back(self, received: Received, tries: int, credit: int) -> None:
        """Put a message into the queue again, with its count: a crash in between puts it there twice."""
        message = received.message
        place = self._link.places.application(self._queue)
        expires = message.properties.get(EXPIRES)
        properties = {TRIES: tries} | ({} if expires is None else {EXPIRES: expires})
        again = Sent(message.body, message.ident or self._new_uid(), SINGLE, group=place.group, properties=properties)
        try:
            await self._link.send(f"queue {self._queue}", place, [again])
        except TransportError:
            received.release()
            return
        received.accept()
        received.link.allow(credit)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(self._lease / LOOKS_PER_LEASE)
            for received in self._in_flight.lapsed(self._now()):
                if self._link.places.returns_released:
                    received.release()
                else:
                    self._return(received, received.message.tries + 1)
            self._stirred.set()
