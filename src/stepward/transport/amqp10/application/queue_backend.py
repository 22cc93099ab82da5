"""An AMQP 1.0 broker as the backend of an application's own queues."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Mapping

from stepward.clock import Environment
from stepward.errors import TransportError
from stepward.events import Observers
from stepward.transport.amqp10.address import AmqpAddress
from stepward.transport.amqp10.application.response_queue import WATCHED, AmqpReading
from stepward.transport.amqp10.application.work_queue import AmqpTaking
from stepward.transport.amqp10.connection import NOT_FOUND, Amqp10Connection
from stepward.transport.amqp10.node_addresses import Place
from stepward.transport.amqp10.protocol.connection import AmqpConnection
from stepward.transport.amqp10.protocol.faults import AmqpRefused
from stepward.transport.amqp10.protocol.links import Received
from stepward.transport.amqp10.protocol.messages import EXPIRES, Sent
from stepward.transport.amqp10.service_bus.name_owner import LOCKED
from stepward.transport.broker.queue_names import BrokerNames
from stepward.transport.queues.backend_contract import RESPONSES, Posted
from stepward.transport.wire.wire_events import BATCH, SINGLE

CONTENT_TYPES = {"submissions": SINGLE, "replies": BATCH}
LOOK_SECONDS = 0.2


class Amqp10Queues:
    """Implements ``QueueBackend``; ``now`` is the store's clock.

    Events also go to a topic for observers, because a queue gives each message to one consumer.
    """

    def __init__(
        self,
        address: AmqpAddress,
        *,
        names: BrokerNames,
        now: Callable[[], float],
        environment: Environment,
        observers: Observers,
    ) -> None:
        self._now = now
        self._environment = environment
        self._link = Amqp10Connection(
            address,
            names,
            label=f"stepward {names.app} queues",
            opened=_opened,
            environment=environment,
            observers=observers,
        )

        self.name = self._link.name

    @property
    def limit(self) -> int:
        return self._link.limit

    async def open(self) -> None:
        await self._link.open()

    async def append(self, queue: str, posted: Posted) -> None:
        await self._link.line()
        place = self._link.places.application(queue)
        message = self._message(queue, posted, place)
        await self._link.send(f"queue {queue}", place, [message])
        if queue.startswith(RESPONSES):
            # The event itself is safe: observers may miss it.
            topic = self._link.places.topic(f"{WATCHED}.{queue}")
            if topic is None:
                return
            with contextlib.suppress(TransportError):
                await self._link.send(f"queue {queue}", Place(topic, topic), [message], is_topic=True)

    async def nonempty(self, prefix: str, known: Collection[str]) -> Mapping[str, bool | None]:
        """The protocol lists neither queues nor readers: of each named one a message is taken and returned."""
        line = await self._link.line()
        found: dict[str, bool | None] = {}
        for queue in known:
            with self._link.reaching(f"queue {queue}"):
                if await self._holds_any(line, self._link.places.application(queue)):
                    found[queue] = None
        return found

    def work(self, queue: str) -> AmqpTaking:
        return AmqpTaking(self._link, queue, self._now, self._environment.new_uid)

    def responses(self, queue: str, *, watches: bool) -> AmqpReading:
        """An observer sees the events from then on."""
        return AmqpReading(self._link, queue, self._now, watches=watches)

    async def close(self) -> None:
        await self._link.close()

    async def _holds_any(self, line: AmqpConnection, place: Place) -> bool:
        came: asyncio.Future[Received] = asyncio.get_running_loop().create_future()

        def on_message(received: Received) -> None:
            if not came.done():
                came.set_result(received)

        try:
            receiver = await self._link.receiver(line, place, on_message, is_made=False)
        except AmqpRefused as refused:
            if refused.condition in (NOT_FOUND, LOCKED):
                return False
            raise
        receiver.allow(1)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOOK_SECONDS):
                (await came).release()
        receiver.close()
        return came.done() and not came.cancelled()

    def _message(self, queue: str, posted: Posted, place: Place) -> Sent:
        kind = CONTENT_TYPES.get(queue.partition(".")[0], "application/json")
        if posted.expires_at is None:
            return Sent(posted.body, posted.id, kind, group=place.group)
        ttl = max(0.0, posted.expires_at - self._now()) + 1
        properties = {EXPIRES: posted.expires_at}
        return Sent(posted.body, posted.id, kind, ttl=ttl, group=place.group, properties=properties)


async def _opened(_: AmqpConnection) -> None:
    """Each queue is reached at its first use."""
