"""An AMQP 1.0 broker as the broker of one application."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from stepward.clock import Environment
from stepward.events import Observers
from stepward.transport.amqp10.address import AmqpAddress
from stepward.transport.amqp10.connection import Amqp10Connection
from stepward.transport.amqp10.name_owner import claim
from stepward.transport.amqp10.node_addresses import Place
from stepward.transport.amqp10.protocol.connection import AmqpConnection
from stepward.transport.amqp10.protocol.links import Received
from stepward.transport.amqp10.protocol.messages import RETURNED, Sent
from stepward.transport.amqp10.requests_and_replies.consumer import AmqpSource
from stepward.transport.amqp10.requests_and_replies.ended_queues import AmqpEndedQueues
from stepward.transport.amqp10.service_bus.name_owner import claim_session
from stepward.transport.broker.batching import MessageBatch
from stepward.transport.broker.broadcasts import BROADCASTS
from stepward.transport.broker.consuming.consumer import Consumer
from stepward.transport.broker.queue_names import BrokerNames
from stepward.transport.contract import Lost
from stepward.transport.wire.wire_events import BATCH, SINGLE

MOST_AGE = 7 * 86_400.0
BROADCAST_CREDIT = 1_000


class Amqp10Broker:
    """Implements ``Broker``; ``now`` is the store's clock."""

    def __init__(
        self,
        address: AmqpAddress,
        *,
        names: BrokerNames,
        now: Callable[[], float],
        environment: Environment,
        observers: Observers,
    ) -> None:
        self._names = names
        self._now = now
        self._environment = environment
        self._store = ""
        self._first: str | None = None
        """Of a partition, the first store of its application."""
        self._was_here = False
        self._is_lost = False
        """Whether the broker lost its messages and nothing was reported yet: a connection may fail meanwhile."""
        self._claims: dict[str, frozenset[str]] = {}
        """The ids of the claims that the last connection found, by the root of the names."""
        self._link = Amqp10Connection(
            address,
            names,
            label=f"stepward {names.app}",
            opened=self._listen,
            environment=environment,
            observers=observers,
        )
        self.name = self._link.name
        self._adoption = AmqpEndedQueues(self._link, environment.new_uid)
        self._sources: dict[str, tuple[AmqpSource, Consumer[Received]]] = {}
        self._on_broadcast: Callable[[bytes], None] = lambda _: None
        self._lost: Lost = lambda _: None

    @property
    def limit(self) -> int:
        return self._link.limit

    async def open(
        self, on_broadcast: Callable[[bytes], None], lost: Lost, store: str, first: str | None = None
    ) -> None:
        self._on_broadcast, self._lost, self._store, self._first = on_broadcast, lost, store, first
        await self._link.open()

    async def prepare(self, queue: str, lease: float) -> None:
        await self._link.send(f"queue {queue}", self._link.places.requests(queue), [])

    async def append(self, queue: str, batches: Sequence[MessageBatch]) -> None:
        await self._link.line()
        place = self._link.places.requests(queue)
        await self._link.send(f"queue {queue}", place, [self._message(batch, place) for batch in batches])

    def source(self, queue: str, intake: Consumer[Received]) -> AmqpSource:
        source = AmqpSource(self._link, queue, intake, self._now)
        self._sources[queue] = source, intake
        return source

    async def broadcast(self, body: bytes) -> None:
        await self._link.line()
        topic = self._link.places.topic(BROADCASTS)
        if topic is None:
            return
        message = Sent(body, self._environment.new_uid(), SINGLE)
        await self._link.send("revocation", Place(topic, topic), [message], is_topic=True)

    async def adopt(self, queues: Collection[str], heir: str, live: Collection[str] | None) -> None:
        """Queues outside ``queues`` cannot be listed."""
        await self._link.line()
        for queue in self._adoption.due(queues):
            source, intake = self._sources.get(queue, (None, None))
            if source is not None:
                await source.leave()
            await self._adoption.adopt(queue, heir)
            if intake is not None:
                intake.stir()

    async def release(self, queue: str) -> None:
        """The queue stays: the protocol has no way to delete it."""
        if queue in self._sources:
            source, _ = self._sources[queue]
            await source.leave()

    async def close(self) -> None:
        await self._link.close()

    async def _listen(self, line: AmqpConnection) -> None:
        with self._link.reaching("the application's name"):
            was_claimed = await self._claim(line, self._names, self._store)
            self._is_lost |= self._was_here and not was_claimed
            if self._first is not None:
                await self._claim(line, self._names.whole, self._first)
        topic = self._link.places.topic(BROADCASTS)
        if topic is not None:
            with self._link.reaching("broadcasts"):
                receiver = await line.receiver(topic, self._received, is_topic=True, is_settled=True)
            receiver.allow(BROADCAST_CREDIT)
        self._was_here = True
        if self._is_lost:
            self._is_lost = False
            self._lost(None)

    async def _claim(self, line: AmqpConnection, names: BrokerNames, store: str) -> bool:
        """Claim a name; whether the broker still has the claim that the last connection found."""
        places = self._link.places
        if places.holds_locks:
            where = f"{places.name} at {self._link.shown}"
            return await claim_session(line, places.owner(names), names, store, where)
        environment, before = self._environment, self._claims.get(names.root)
        found = await claim(self._link, line, names, store, environment.new_uid(), environment.random)
        self._claims[names.root] = found
        # What a process asked and removed may come back with a broker that crashed: the claim itself tells.
        return before is None or not found.isdisjoint(before)

    def _received(self, received: Received) -> None:
        received.accept()
        received.link.allow(1)
        self._on_broadcast(received.message.body)

    def _message(self, batch: MessageBatch, place: Place) -> Sent:
        age = batch.expires_at - self._now()
        return Sent(
            batch.body,
            self._environment.new_uid(),
            BATCH,
            ttl=max(age, 0.0) + 1 if age < MOST_AGE else None,
            group=place.group,
            properties={RETURNED: True} if batch.is_returned else None,
        )
