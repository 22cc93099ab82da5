"""NATS as the broker of one application."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence

from nats.aio.client import Client
from nats.aio.msg import Msg

from stepward.clock import Environment
from stepward.events import Observers
from stepward.transport.broker.batching import MessageBatch
from stepward.transport.broker.consuming.consumer import Consumer
from stepward.transport.broker.queue_names import BrokerNames
from stepward.transport.contract import Lost
from stepward.transport.nats.address import NatsAddress
from stepward.transport.nats.connection import NatsConnection
from stepward.transport.nats.name_owner import claim
from stepward.transport.nats.requests_and_replies.consumer import NatsSource
from stepward.transport.nats.requests_and_replies.ended_queues import adopt_ended
from stepward.transport.nats.requests_and_replies.request_stream import Stream

NEVER_SEEN = float("-inf")
LOOK_SECONDS = 600.0
"""Seconds between two checks that the consumer of an Agent's queue still exists."""


class NatsBroker:
    """Implements ``Broker``; ``now`` is the store's clock."""

    name = "NATS"

    def __init__(
        self,
        address: NatsAddress,
        *,
        names: BrokerNames,
        now: Callable[[], float],
        environment: Environment,
        observers: Observers,
    ) -> None:
        self._link = NatsConnection(
            address, names=names, opened=self._listen, environment=environment, observers=observers
        )
        self._stream = Stream(self._link, names, now, self._lose)
        self._names = names
        self._now = now
        self._leases: dict[str, float] = {}
        """By Agents' queue that this process publishes to, the lease of requests in seconds."""
        self._seen_at: dict[str, float] = {}
        """When the consumer of such a queue was last seen, by the loop's time."""
        self._may_broadcast: Client | None = None
        """The connection over which this login is known to have the right to broadcast."""
        self._on_broadcast: Callable[[bytes], None] | None = None
        self._lost: Lost | None = None

    async def open(
        self, on_broadcast: Callable[[bytes], None], lost: Lost, store: str, first: str | None = None
    ) -> None:
        """Make a missing stream."""
        self._on_broadcast, self._lost = on_broadcast, lost
        await self._link.open()
        await claim(self._link, self._names, store)
        if first is not None:
            await claim(self._link, self._names.whole, first)
        await self._stream.open()

    async def prepare(self, queue: str, lease: float) -> None:
        """Make a missing consumer again before publishing."""
        self._leases[queue] = lease
        await self._look_after(queue)

    @property
    def limit(self) -> int:
        return self._link.limit

    async def append(self, queue: str, batches: Sequence[MessageBatch]) -> None:
        if queue in self._leases:
            await self._look_after(queue)
        await self._stream.append(queue, batches)

    def source(self, queue: str, intake: Consumer[str]) -> NatsSource:
        return NatsSource(self._link, self._stream, queue, intake, self._now)

    async def broadcast(self, body: bytes) -> None:
        client = await self._link.client()
        began_at = asyncio.get_running_loop().time()
        with self._link.reaching("revocation"):
            await client.publish(self._stream.broadcasts, body)
        if client is not self._may_broadcast:
            await self._link.heed(client, "revocation", self._stream.broadcasts, began_at)
            self._may_broadcast = client

    async def adopt(self, queues: Collection[str], heir: str, live: Collection[str] | None) -> None:
        """Moves taken messages too; settling them has no effect afterwards."""
        await adopt_ended(self._stream, queues, heir, live)

    async def release(self, queue: str) -> None:
        """A queue is a subject, and its consumer expires by itself."""

    async def close(self) -> None:
        await self._link.close()

    async def _listen(self, client: Client) -> None:
        began_at = asyncio.get_running_loop().time()
        await client.subscribe(self._stream.broadcasts, cb=self._received)
        await self._link.heed(client, "broadcasts to all processes", self._stream.broadcasts, began_at)

    async def _look_after(self, queue: str) -> None:
        """Make the consumer of an Agent's queue again if it was deleted."""
        now = asyncio.get_running_loop().time()
        if now >= self._seen_at.get(queue, NEVER_SEEN) + LOOK_SECONDS:
            await self._stream.consumer(queue, self._leases[queue])
            self._seen_at[queue] = now

    def _lose(self) -> None:
        self._seen_at.clear()
        if self._lost is not None:
            self._lost(None)

    async def _received(self, message: Msg) -> None:
        if self._on_broadcast is not None:
            self._on_broadcast(message.data)
