"""One queue as this process receives from it, over a link of its own, with credit for no more than it has room for."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence

from stepward.errors import TransportError
from stepward.transport.amqp10.connection import Amqp10Connection
from stepward.transport.amqp10.engine.connection import AmqpConnection
from stepward.transport.amqp10.engine.links import Received, ReceivingLink
from stepward.transport.broker.consumer import Consumer

LOOK_SECONDS = 5.0
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
        self._lease = 0.0
        self._asking = asyncio.Lock()
        self._looking: asyncio.Task[None] | None = None

    async def ask(self, limit: int, lease: float) -> float:
        async with self._asking:
            line = await self._link.line()
            self._lease = max(lease, self._lease)
            with self._link.reaching(f"queue {self._queue}"):
                receiver = await self._ready(line)
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
        """The lease is the intake's own, so only the connection must stand."""
        await self._link.line()

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
        return receiver

    def _received(self, received: Received) -> None:
        message = received.message
        ident = message.ident or f"{id(received.link)}/{id(received)}"
        self._intake.arrived(ident, received, message.body, self._now() + self._lease, again=message.is_returned)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(self._lease / LOOKS_PER_LEASE)
            with contextlib.suppress(TransportError):
                await self._intake.refuse_lapsed()
            self._intake.prune()
