"""The contract of transports over any broker: the part that all brokers share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol

from stepward.errors import TransportError
from stepward.events import Observers
from stepward.model.messages.signing import Signer
from stepward.transport.broker.batching import Batcher, MessageBatch
from stepward.transport.broker.broadcasts import Broadcasts
from stepward.transport.broker.consuming.consumer import Consumer, Source
from stepward.transport.broker.dead_letters import Bury
from stepward.transport.broker.refused_queues import RefusedQueues
from stepward.transport.broker.rejections import Rejections
from stepward.transport.contract import AgentMessage, Delivery
from stepward.transport.wire.encoding import Wire

ENDED_REPLIES = "replies"
"""The name, among the queues, of the reply queues of Schedulers that have ended, while another one empties them."""


class Broker(Protocol):
    """A broker's part in the transport of one application. All methods raise TransportError."""

    @property
    def name(self) -> str:
        """The broker's name for people."""
        ...

    @property
    def limit(self) -> int:
        """Most bytes of one message."""
        ...

    async def append(self, queue: str, batches: Sequence[MessageBatch]) -> None:
        """Append messages to a queue; durable when it returns."""
        ...

    def source(self, queue: str, intake: Consumer[Any]) -> Source[Any]:
        """The source that feeds ``intake`` from a queue."""
        ...

    async def broadcast(self, body: bytes) -> None:
        """Broadcast to every process of the application that listens now."""
        ...

    async def adopt(self, queues: Collection[str], heir: str, live: Collection[str] | None) -> None:
        """Move the messages of some queues to another; a broker's part of ``Transport.adopt``."""
        ...

    async def release(self, queue: str) -> None:
        """Delete the queue of a reader that ended, unless it holds messages."""
        ...

    async def close(self) -> None:
        """Close the connection."""
        ...


class BrokerTransport:
    """Implements ``Transport``; ``now`` is the store's clock, ``ident`` tells this process from others."""

    def __init__(
        self,
        broker: Broker,
        *,
        app: str,
        ident: str,
        now: Callable[[], float],
        observers: Observers,
        bury: Bury,
        signer: Signer,
    ) -> None:
        self._broker = broker
        self._now = now
        self._observers = observers
        self._bury = bury
        self._refusals = RefusedQueues(broker.name, observers)
        self._rejections = Rejections(observers, now)
        self.broadcasts = Broadcasts(
            f"/stepward/{app}/{ident}",
            broker=broker.name,
            send=broker.broadcast,
            refusals=self._refusals,
            observers=observers,
        )
        self.on_revoke = self.broadcasts.on_revoke
        self.on_lost = self.broadcasts.on_lost
        self.on_announcement = self.broadcasts.on_announcement
        self._wire = Wire(app, signer)
        self._packer = Batcher(self._wire, broker.name)
        self._intakes: dict[str, Consumer[Any]] = {}
        self._closed = False

    async def publish(self, queue: str, messages: Sequence[AgentMessage]) -> None:
        """A message too large for the broker makes its step fail."""
        await self._put(queue, messages, False)

    async def _put(self, queue: str, messages: Sequence[AgentMessage], is_returned: bool) -> None:
        self._check_open(queue)
        limit = self._broker.limit
        too_large = [message for message in messages if self._packer.is_too_large(message, limit)]
        for message in too_large:
            to = getattr(message, "reply_to", queue)
            await self._append(to, [self._packer.refusal(message, limit)], limit, is_returned=False)
        rest = [m for m in messages if m not in too_large] if too_large else messages
        await self._append(queue, rest, limit, is_returned=is_returned)

    async def take(self, queue: str, limit: int, lease: float) -> list[Delivery]:
        self._check_open(queue)
        with self._refusals.watching(queue):
            return await self._intake(queue).take(limit, lease)

    async def settle(self, queue: str, deliveries: Sequence[Delivery]) -> None:
        self._check_open(queue)
        await self._intake(queue).settle([delivery.token for delivery in deliveries])

    async def extend(self, queue: str, deliveries: Sequence[Delivery], lease: float) -> Sequence[Delivery]:
        """Extends the leases only; listeners are called for revocations at once."""
        self._check_open(queue)
        await self._intake(queue).extend([delivery.token for delivery in deliveries], lease)
        return ()

    async def revoke(self, queue: str, task: str, run: int, key: str, attempt: int = 0) -> None:
        """The request stays where it is, and its Agent drops it past its complete-by."""
        self._check_open(queue)
        await self.broadcasts.revoke(queue, task, run, key, attempt)

    async def remind(self, queue: str) -> None:
        """Broadcasts again: a broker cannot address one process."""
        self._check_open(queue)
        await self.broadcasts.remind(queue)

    def expect(self, queue: str) -> None:
        self._refusals.expect(queue)

    async def adopt(self, queues: Collection[str], heir: str, live: Collection[str] | None = None) -> None:
        self._check_open(heir)
        for queue in self._intakes.keys() & set(queues):
            self._intakes[queue].forget()
        with self._refusals.watching(ENDED_REPLIES):
            await self._broker.adopt(queues, heir, live)

    async def release(self, queue: str) -> None:
        self._check_open(queue)
        await self._broker.release(queue)

    async def close(self) -> None:
        """Return the messages that were not taken, refuse all further calls, and end the waiting takes."""
        if self._closed:
            return
        self._closed = True
        for intake in self._intakes.values():
            await intake.close()
        await self._broker.close()

    async def _append(self, queue: str, messages: Sequence[AgentMessage], limit: int, *, is_returned: bool) -> None:
        if messages:
            with self._refusals.watching(queue):
                batches = self._packer.batches(messages, self._now(), limit, is_returned=is_returned)
                await self._broker.append(queue, list(batches))

    def _intake(self, queue: str) -> Consumer[Any]:
        intake = self._intakes.get(queue)
        if intake is None:
            intake = self._intakes[queue] = Consumer(
                queue,
                lambda intake: self._broker.source(queue, intake),
                wire=self._wire,
                now=self._now,
                observers=self._observers,
                put=self._put,
                is_revoked=self.broadcasts.is_revoked,
                bury=self._bury,
                rejections=self._rejections,
            )
        return intake

    def _check_open(self, queue: str) -> None:
        if self._closed:
            raise TransportError(f"queue {queue}: expected an open transport, found it closed; open another")
