"""A broker in memory, for tests in virtual time: queues with leases, broadcasts, a limit on messages."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from itertools import count
from typing import Any

from stepward.errors import TransportError
from stepward.transport.broker.batching import MessageBatch
from stepward.transport.contract import Lost

LIMIT = 64 * 1024
ASK_AGAIN = 5.0


class FakeMessage:
    def __init__(self, ident: str, batch: MessageBatch) -> None:
        self.ident = ident
        self.body = batch.body
        self.is_returned = batch.is_returned
        self.given = 0
        self.leased_until = 0.0


class FakeServer:
    """The broker; its connections are ``FakeBroker``s."""

    def __init__(self, *, has_leases: bool = True, attach_seconds: float = 0.0) -> None:
        self.attach_seconds = attach_seconds
        """How long the first ask of a source takes."""
        self.has_leases = has_leases
        """Without leases, messages return when their connection is lost."""
        self.queues: dict[str, list[FakeMessage]] = defaultdict(list)
        self.sources: dict[str, list[FakeSource]] = defaultdict(list)
        self.listeners: dict[FakeBroker, Callable[[bytes], None]] = {}
        self._numbers = count(1)

    def append(self, queue: str, batch: MessageBatch) -> None:
        if len(batch.body) > LIMIT:
            raise TransportError(f"queue {queue}: expected at most {LIMIT} bytes, found {len(batch.body)}")
        self.queues[queue].append(FakeMessage(str(next(self._numbers)), batch))
        self.deliver(queue)

    def deliver(self, queue: str) -> None:
        loop = asyncio.get_running_loop()
        for message in list(self.queues[queue]):
            source = next((each for each in self.sources[queue] if each.wanted > 0), None)
            if source is None:
                return
            if message.leased_until <= loop.time():
                message.given += 1
                message.leased_until = loop.time() + source.lease if self.has_leases else float("inf")
                if self.has_leases:
                    loop.call_later(source.lease + 0.001, self.deliver, queue)
                source.give(message)

    def acknowledge(self, queue: str, handles: Collection[FakeMessage]) -> None:
        self.queues[queue] = [each for each in self.queues[queue] if each not in handles]

    def give_back(self, queue: str, handles: Collection[FakeMessage]) -> None:
        for message in handles:
            message.leased_until = 0.0
        self.deliver(queue)


class FakeSource:
    """Implements ``Source``."""

    def __init__(self, server: FakeServer, queue: str, intake: Any) -> None:
        self.wanted = 0
        self.lease = 1.0
        self._server = server
        self._queue = queue
        self._intake = intake
        self._held: list[FakeMessage] = []
        self._is_attached = False
        server.sources[queue].append(self)

    def give(self, message: FakeMessage) -> None:
        self.wanted -= 1
        self._held.append(message)
        again = message.given > 1 or message.is_returned
        self._intake.arrived(message.ident, message, message.body, message.leased_until, again=again)

    async def ask(self, limit: int, lease: float) -> float:
        self.lease = lease
        if not self._is_attached:
            await asyncio.sleep(self._server.attach_seconds)
            self._is_attached = True
        if self.wanted <= 0:
            self.wanted = limit
        self._server.deliver(self._queue)
        return ASK_AGAIN

    async def acknowledge(self, handles: Sequence[FakeMessage]) -> None:
        self._held = [each for each in self._held if each not in handles]
        self._server.acknowledge(self._queue, handles)

    async def extend(self, handles: Sequence[FakeMessage], lease: float) -> None:
        for message in handles:
            message.leased_until = asyncio.get_running_loop().time() + lease
            asyncio.get_running_loop().call_later(lease + 0.001, self._server.deliver, self._queue)

    async def rest(self) -> None:
        self.wanted = 0

    async def refuse(self, handles: Sequence[FakeMessage]) -> None:
        self._server.give_back(self._queue, handles)

    async def leave(self) -> None:
        self.drop()

    def drop(self) -> None:
        """Lose the connection."""
        self.wanted = 0
        if self in self._server.sources[self._queue]:
            self._server.sources[self._queue].remove(self)
        if not self._server.has_leases:
            self._server.give_back(self._queue, self._held)


class FakeBroker:
    """Implements ``Opening``: one connection."""

    name = "memory"
    limit = LIMIT

    def __init__(self, server: FakeServer) -> None:
        self._server = server
        self._sources: list[FakeSource] = []

    async def open(
        self, on_broadcast: Callable[[bytes], None], lost: Lost, store: str, first: str | None = None
    ) -> None:
        self._server.listeners[self] = on_broadcast

    async def prepare(self, queue: str, lease: float) -> None: ...

    async def append(self, queue: str, batches: Sequence[MessageBatch]) -> None:
        for batch in batches:
            self._server.append(queue, batch)

    def source(self, queue: str, intake: Any) -> FakeSource:
        self._sources.append(FakeSource(self._server, queue, intake))
        return self._sources[-1]

    async def broadcast(self, body: bytes) -> None:
        for listener in list(self._server.listeners.values()):
            asyncio.get_running_loop().call_soon(listener, body)

    async def adopt(self, queues: Collection[str], heir: str, live: Collection[str] | None) -> None: ...

    async def release(self, queue: str) -> None: ...

    async def close(self) -> None:
        self._server.listeners.pop(self, None)
        for source in self._sources:
            source.drop()
