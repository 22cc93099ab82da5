"""RabbitMQ as the backend of an application's own queues."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Callable, Collection, Mapping

from aio_pika import DeliveryMode, Message
from aio_pika.exceptions import ChannelNotFoundEntity, DeliveryError, PublishError

from stepward.clock import Environment
from stepward.errors import TransportError
from stepward.events import Observers
from stepward.transport.broker.queue_names import BrokerNames
from stepward.transport.queues.backend_contract import RESPONSES, Posted
from stepward.transport.rabbitmq.application.declarations import ANSWER_SECONDS, EXPIRES, Declarations
from stepward.transport.rabbitmq.application.event_copies import EventCopies
from stepward.transport.rabbitmq.application.response_queue import RabbitReading
from stepward.transport.rabbitmq.application.work_queue import RabbitTaking
from stepward.transport.rabbitmq.channels import own_channel
from stepward.transport.rabbitmq.connection import RabbitChannels, RabbitConnection
from stepward.transport.wire.wire_events import BATCH, SINGLE

CONTENT_TYPES = {"submissions": SINGLE, "replies": BATCH}
LIMIT = 15 * 1024 * 1024
"""Most bytes of a message: any server with default settings takes more."""

PATIENCE_SECONDS = 2.0
PAUSE = 0.1


class RabbitQueues:
    """Implements ``QueueBackend``; ``now`` is the store's clock."""

    name = "RabbitMQ"
    limit = LIMIT

    def __init__(
        self,
        address: str,
        *,
        names: BrokerNames,
        now: Callable[[], float],
        environment: Environment,
        observers: Observers,
    ) -> None:
        self._now = now
        self._link = RabbitConnection(
            address,
            name=f"stepward {names.app} queues",
            opened=self._opened,
            environment=environment,
            observers=observers,
        )
        self._declarations = Declarations(self._link, names, now)
        self._line: RabbitChannels | None = None
        self._declared: set[str] = set()
        self._copies = EventCopies(self._declarations)

    async def open(self) -> None:
        await self._link.open()

    async def append(self, queue: str, posted: Posted) -> None:
        line = await self._link.line()
        with self._link.reaching(f"queue {queue}"):
            end = asyncio.get_running_loop().time() + PATIENCE_SECONDS
            while not await self._published(queue, posted, line, end):
                continue
        if queue.startswith(RESPONSES):
            # The event itself is safe: observers may miss it.
            with contextlib.suppress(TransportError), self._link.reaching(f"queue {queue}"):
                await self._copies.publish(queue, posted.body, line)

    async def nonempty(self, prefix: str, known: Collection[str]) -> Mapping[str, bool | None]:
        """A server does not list queues; it knows the readers of named ones."""
        line = await self._link.line()
        found: dict[str, bool | None] = {}
        for queue in known:
            with self._link.reaching(f"queue {queue}"), contextlib.suppress(ChannelNotFoundEntity):
                async with own_channel(line.connection) as channel:
                    name = self._declarations.name(queue)
                    declared = (
                        await channel.declare_queue(name, passive=True, timeout=ANSWER_SECONDS)
                    ).declaration_result
                if declared.message_count:
                    found[queue] = bool(declared.consumer_count)
        return found

    def work(self, queue: str) -> RabbitTaking:
        return RabbitTaking(self._declarations, queue)

    def responses(self, queue: str, *, watches: bool) -> RabbitReading:
        """An observer sees the events from then on."""
        return RabbitReading(self._declarations, queue, watches=watches)

    async def close(self) -> None:
        await self._link.close()

    async def _opened(self, _: RabbitChannels) -> None:
        self._copies.reconnected()

    async def _ensure(self, queue: str, line: RabbitChannels) -> None:
        if line is not self._line:
            self._line = line
            self._declared.clear()
        if queue not in self._declared:
            async with own_channel(line.connection) as channel:
                await self._declarations.declare(queue, channel)
            self._declared.add(queue)

    async def _published(self, queue: str, posted: Posted, line: RabbitChannels, end: float) -> bool:
        """Whether the broker took it; a queue that is electing a leader may refuse for a moment."""
        try:
            await self._ensure(queue, line)
            await self._publish(queue, posted, line)
        except DeliveryError as error:
            if isinstance(error, PublishError):
                # The queue was deleted.
                self._declared.discard(queue)
            if asyncio.get_running_loop().time() > end:
                raise
            await asyncio.sleep(PAUSE)
            return False
        return True

    async def _publish(self, queue: str, posted: Posted, line: RabbitChannels) -> None:
        name = self._declarations.name(queue)
        channel = await line.publishing.channel()
        await channel.default_exchange.publish(self._message(queue, posted), name, timeout=ANSWER_SECONDS)

    def _message(self, queue: str, posted: Posted) -> Message:
        message = Message(
            posted.body,
            content_type=CONTENT_TYPES.get(queue.partition(".")[0], "application/json"),
            delivery_mode=DeliveryMode.PERSISTENT,
            message_id=posted.id,
        )
        if posted.expires_at is not None:
            message.expiration = math.ceil(max(0.0, posted.expires_at - self._now())) + 1
            message.headers[EXPIRES] = repr(posted.expires_at)
        return message
