"""Queues of dead instances: their messages are moved, a few queues at a time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence

from stepward.transport.amqp10.connection import NOT_FOUND, Amqp10Connection
from stepward.transport.amqp10.node_addresses import Place
from stepward.transport.amqp10.protocol.faults import AmqpRefused
from stepward.transport.amqp10.protocol.links import Received
from stepward.transport.amqp10.protocol.messages import Sent
from stepward.transport.amqp10.service_bus.name_owner import LOCKED
from stepward.transport.broker.ended_queues import EndedQueueTurns
from stepward.transport.wire.wire_events import BATCH

MOST_ADOPTED = 1_000
"""Most messages of one queue that are moved at once."""
QUIET_SECONDS = 0.2
"""Seconds without a message after which a queue counts as empty."""


class AmqpEndedQueues(EndedQueueTurns):
    """Moves the messages of queues of dead instances to their heirs."""

    def __init__(self, link: Amqp10Connection, new_uid: Callable[[], str]) -> None:
        super().__init__()
        self._link = link
        self._new_uid = new_uid

    async def adopt(self, queue: str, heir: str) -> None:
        """Move a queue's messages; those taken by another process return when it dies, and are moved then."""
        place = self._link.places.requests(queue)
        with self._link.reaching(f"queue {queue}"):
            try:
                found = await self._all(place)
            except AmqpRefused as refused:
                if refused.condition in (NOT_FOUND, LOCKED):
                    return
                raise
        to = self._link.places.requests(heir)
        try:
            for received in found:
                message = Sent(received.message.body, self._new_uid(), BATCH, group=to.group)
                await self._link.send(f"queue {heir}", to, [message])
                received.accept()
        finally:
            if found:
                found[0].link.close()

    async def _all(self, place: Place) -> Sequence[Received]:
        """The messages that wait in a queue; the caller closes the link of those that were found."""
        found: list[Received] = []
        came = asyncio.Event()

        def on_message(received: Received) -> None:
            found.append(received)
            came.set()

        line = await self._link.line()
        receiver = await self._link.receiver(line, place, on_message, is_made=False)
        receiver.allow(MOST_ADOPTED)
        with contextlib.suppress(TimeoutError):
            while len(found) < MOST_ADOPTED:
                came.clear()
                async with asyncio.timeout(QUIET_SECONDS):
                    await came.wait()
        receiver.withdraw()
        if not found:
            receiver.close()
        return found
