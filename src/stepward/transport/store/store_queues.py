"""The applications' queues in the state store."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Protocol

from stepward.errors import StoreError, TransportError
from stepward.model.messages.change_kinds import EVERYTHING, Kinds, of_queue
from stepward.runtime.cancelling import retrieve
from stepward.transport.queues.contract import NO_EVENTS, Stored, Watching
from stepward.transport.store.wakeups import Wakeups

NAMES = count(1)
"""Numbers that tell apart the readers of one queue."""
MOST_LISTED = 1_000
"""Most queues in one listing."""


class Messages(Protocol):
    """The part of the store's contract that these queues use."""

    def now(self) -> float:
        """The store's clock."""
        ...

    async def put(self, queue: str, bodies: Sequence[tuple[bytes, float | None]]) -> None:
        """Append messages with the instants at which they expire."""
        ...

    async def take(self, queue: str, limit: int, lease: float) -> Sequence[Stored]:
        """Take messages without waiting for any."""
        ...

    async def settle(self, queue: str, tokens: Sequence[int]) -> None:
        """Delete messages."""
        ...

    async def answer(
        self, queue: str, bodies: Sequence[tuple[bytes, float | None]], asked: str, tokens: Sequence[int]
    ) -> None:
        """Append messages, and delete those of the queue ``asked`` that they answer, in one transaction."""
        ...

    async def extend(self, queue: str, tokens: Sequence[int], lease: float) -> Sequence[int]:
        """Extend the leases of messages; the tokens of those that are no longer in the queue."""
        ...

    async def withdraw(self, queue: str, beginning: bytes, part: bytes) -> Sequence[Stored]:
        """Delete the requests whose body starts with ``beginning`` and has ``part``; none if several were taken."""
        ...

    async def read(self, queue: str, after: int, limit: int, reader: str = "") -> Sequence[Stored]:
        """Messages after a token, without waiting for any."""
        ...

    async def bury(
        self, queue: str, dead_letters: Sequence[tuple[int, str]], events: Sequence[tuple[str, bytes]] = ()
    ) -> None:
        """Move messages to the dead letters."""
        ...

    async def filled(self, queues: Sequence[str]) -> Collection[str]:
        """Those of the queues with a message to take or read."""
        ...

    async def nonempty(self, prefix: str, limit: int) -> Sequence[str]:
        """Non-empty queues whose names begin with ``prefix``."""
        ...

    async def adopt(self, queue: str, heir: str) -> int:
        """Move the messages of a queue to ``heir``."""
        ...


class StoreQueues:
    """``AppQueues`` in the state store.

    A waiting call reads again when woken and when ``hint`` says that the store changed. Every ``poll`` seconds one
    statement finds the non-empty queues for all waiting calls.
    """

    def __init__(self, messages: Messages, *, poll: float, hint: Callable[[], bool] | None = None) -> None:
        self._messages = messages
        self._wakeups = Wakeups(poll, hint)
        self._closed = False
        self._waited = Counter[str]()
        """The number of waiting calls by queue."""
        self._asking: asyncio.Future[Collection[str]] | None = None
        """The query for non-empty queues that is running now."""

    def wake(self, kinds: Kinds = EVERYTHING) -> None:
        self._wakeups.ring(kinds)

    @property
    def closed(self) -> bool:
        return self._closed

    def check_open(self, queue: str) -> None:
        """Raise TransportError once closed."""
        if self._closed:
            raise TransportError(f"queue {queue}: expected an open transport, found it closed; open another")

    async def put(self, queue: str, bodies: Sequence[tuple[bytes, float | None]]) -> None:
        with self._reaching(queue):
            await self._messages.put(queue, bodies)
        self._wakeups.ring(of_queue(queue))

    async def take(self, queue: str, limit: int, lease: float) -> Sequence[Stored]:
        return await self._wait(queue, lambda: self._messages.take(queue, limit, lease))

    async def settle(self, queue: str, tokens: Sequence[int]) -> None:
        with self._reaching(queue):
            await self._messages.settle(queue, tokens)

    async def answer(
        self, queue: str, bodies: Sequence[tuple[bytes, float | None]], asked: str, tokens: Sequence[int]
    ) -> None:
        """``put``, and ``settle`` of messages of the queue ``asked``, in one transaction."""
        with self._reaching(queue):
            await self._messages.answer(queue, bodies, asked, tokens)
        self._wakeups.ring(of_queue(queue))

    async def extend(self, queue: str, tokens: Sequence[int], lease: float) -> None:
        await self.renew(queue, tokens, lease)

    async def renew(self, queue: str, tokens: Sequence[int], lease: float) -> Sequence[int]:
        """Extend the leases of these; the tokens of those that were withdrawn meanwhile."""
        with self._reaching(queue):
            return await self._messages.extend(queue, tokens, lease)

    async def withdraw(self, queue: str, beginning: bytes, part: bytes) -> Sequence[Stored]:
        """Delete the requests whose body starts with ``beginning`` and has ``part``; none if several were taken."""
        with self._reaching(queue):
            return await self._messages.withdraw(queue, beginning, part)

    async def read(self, queue: str, after: int, limit: int) -> Sequence[Stored]:
        return await self.read_as("", queue, after, limit)

    async def read_as(self, reader: str, queue: str, after: int, limit: int) -> Sequence[Stored]:
        """``read`` for one of several concurrent readers."""
        return await self._wait(queue, lambda: self._messages.read(queue, after, limit, reader))

    async def nonempty(self, prefix: str, known: Collection[str]) -> Mapping[str, bool | None]:
        """Lists the queues; the store does not know their readers."""
        with self._reaching(prefix):
            return dict.fromkeys(await self._messages.nonempty(prefix, MOST_LISTED))

    def watch(self, queue: str) -> Watching:
        """A view; reading changes nothing in the store."""
        return StoreWatching(self, queue)

    async def bury(
        self, queue: str, dead_letters: Sequence[tuple[int, str]], events: Mapping[int, tuple[str, bytes]] = NO_EVENTS
    ) -> None:
        with self._reaching(queue):
            await self._messages.bury(queue, dead_letters, list(events.values()))

    async def adopt(self, queue: str, heir: str) -> None:
        """Move the messages of a queue to another."""
        with self._reaching(queue):
            await self._messages.adopt(queue, heir)
        self._wakeups.ring(of_queue(heir))

    async def close(self) -> None:
        """Close without closing the store, which its owner closes."""
        self._closed = True
        self._wakeups.ring()
        if self._asking is not None:
            await asyncio.gather(self._asking, return_exceptions=True)

    async def _wait(self, queue: str, look: Callable[[], Awaitable[Sequence[Stored]]]) -> Sequence[Stored]:
        self._waited[queue] += 1
        kind = of_queue(queue)
        try:
            while True:
                rung = self._wakeups.rung(kind)
                with self._reaching(queue):
                    stored = await look()
                if stored:
                    return stored
                while not await self._wakeups.heard(kind, rung) and not await self._is_filled(queue):
                    pass
        finally:
            self._waited[queue] -= 1
            self._waited += Counter()

    async def _is_filled(self, queue: str) -> bool:
        """Whether the queue is non-empty, by one query shared by all waiting calls."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.ensure_future(self._messages.filled(sorted(self._waited)))
            self._asking.add_done_callback(retrieve)
        with self._reaching(queue):
            return queue in await asyncio.shield(self._asking)

    @contextmanager
    def _reaching(self, queue: str) -> Iterator[None]:
        self.check_open(queue)
        try:
            yield
        except StoreError as error:
            raise TransportError(
                f"queue {queue}: expected the store to take or give messages, found: {error}"
            ) from error


class StoreWatching:
    """Implements ``Watching`` as one more reader of the store's queue."""

    def __init__(self, queues: StoreQueues, queue: str) -> None:
        self._queues = queues
        self._queue = queue
        self._name = str(next(NAMES))

    async def read(self, after: int, limit: int) -> Sequence[Stored]:
        return await self._queues.read_as(self._name, self._queue, after, limit)
