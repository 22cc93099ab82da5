"""The application's queues: quorum queues, each declared when it is first used over a connection."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence

from aio_pika import DeliveryMode, Message
from aio_pika.abc import AbstractChannel, AbstractQueue, FieldValue
from aio_pika.exceptions import PublishError

from stepward.clock import Environment
from stepward.transport.outgoing import Parcel
from stepward.transport.rabbitmq.link import Line, Link
from stepward.transport.wire import BATCH

DAY = 86_400.0
MOST_AGE = 7 * DAY
MILLISECONDS = 1000
ANSWER_SECONDS = 5.0
ARGUMENTS: dict[str, FieldValue] = {
    "x-queue-type": "quorum",
    "x-message-ttl": int(MOST_AGE * MILLISECONDS),
    "x-expires": int(MOST_AGE * MILLISECONDS),
    "x-max-length-bytes": 1024**3,
    # What does not fit is refused, not what was taken before forgotten.
    "x-overflow": "reject-publish",
}


class Queues:
    """Declares queues and appends to them; ``now`` is the store's clock."""

    def __init__(self, link: Link, app: str, now: Callable[[], float], environment: Environment) -> None:
        self._prefix = f"stepward.{app}"
        self._link = link
        self._now = now
        self._environment = environment
        self._line: Line | None = None
        self._declared: set[str] = set()

    def name(self, queue: str) -> str:
        """The name that a queue has at the broker."""
        return f"{self._prefix}.{queue}"

    async def declare(self, queue: str, channel: AbstractChannel) -> AbstractQueue:
        """Make a queue unless it is there."""
        return await channel.declare_queue(self.name(queue), durable=True, arguments=ARGUMENTS, timeout=ANSWER_SECONDS)

    async def append(self, queue: str, parcels: Sequence[Parcel]) -> None:
        """Append messages, all at once; each is confirmed."""
        line = await self._link.line()
        with self._link.reaching(f"queue {queue}"):
            await self._ensure(queue, line)
            try:
                await self._append(queue, parcels, line)
            except PublishError:
                # Somebody deleted the queue.
                self._declared.discard(queue)
                await self._ensure(queue, line)
                await self._append(queue, parcels, line)

    async def _ensure(self, queue: str, line: Line) -> None:
        if line is not self._line:
            self._line = line
            self._declared.clear()
        if queue not in self._declared:
            await self.declare(queue, line.channel)
            self._declared.add(queue)

    async def _append(self, queue: str, parcels: Sequence[Parcel], line: Line) -> None:
        ended = await asyncio.gather(
            *(
                line.channel.default_exchange.publish(self._message(parcel), self.name(queue), timeout=ANSWER_SECONDS)
                for parcel in parcels
            ),
            return_exceptions=True,
        )
        for outcome in ended:
            if isinstance(outcome, BaseException):
                raise outcome

    def _message(self, parcel: Parcel) -> Message:
        age = parcel.expires_at - self._now()
        return Message(
            parcel.body,
            content_type=BATCH,
            delivery_mode=DeliveryMode.PERSISTENT,
            expiration=math.ceil(max(age, 0.0)) + 1 if age < MOST_AGE else None,
            message_id=self._environment.new_uid(),
        )
