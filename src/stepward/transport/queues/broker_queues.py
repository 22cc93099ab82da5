"""The applications' own queues over any broker: the part that all brokers share."""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from stepward.errors import PayloadTooLarge, TransportError
from stepward.events import Observers
from stepward.model.messages.change_kinds import EVERYTHING, Kinds
from stepward.runtime.cancelling import give_up, to_its_end
from stepward.transport.broker.dead_letters import BrokerDeadLetter, Bury, dead_letter_message, dead_letters_queue
from stepward.transport.broker.refused_queues import RefusedQueues
from stepward.transport.queues.backend_contract import RESPONSES, Posted, QueueBackend, ResponseQueue, WorkQueue
from stepward.transport.queues.contract import NO_EVENTS, Stored, Watching

R = TypeVar("R")
ALL = "submissions and responses"
"""The name, among the queues, of the application's queues while they are opened together."""


class BrokerQueues:
    """``AppQueues`` over a broker, connected at the first use.

    ``bury`` writes dead letters into the store; a process without a store passes None and sends them through a queue of
    the broker.
    """

    def __init__(
        self, backend: QueueBackend, *, app: str, new_uid: Callable[[], str], observers: Observers, bury: Bury | None
    ) -> None:
        self._backend = backend
        self._refusals = RefusedQueues(backend.name, observers)
        self.expect = self._refusals.expect
        self._new_uid = new_uid
        self._dead_letters = dead_letters_queue(app)
        self._bury_in_store = bury
        self._work: dict[str, WorkQueue] = {}
        self._readers: dict[str, ResponseQueue] = {}
        self._watched: set[ResponseQueue] = set()
        """The open views of observers, one each: settling in one does not affect the others."""
        self._leaving: set[asyncio.Task[None]] = set()
        self._listeners: list[Callable[[], None]] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._opening = asyncio.Lock()
        self._is_open = False
        self._over = asyncio.Event()

    async def open(self) -> None:
        """Connect now."""
        async with self._opening:
            if self._is_open or self._over.is_set():
                return
            try:
                await self._backend.open()
            except BaseException:
                await to_its_end(self._backend.close())
                raise
            self._loop = asyncio.get_running_loop()
            self._is_open = True

    @property
    def closed(self) -> bool:
        return self._over.is_set()

    def wake(self, kinds: Kinds = EVERYTHING) -> None:
        """Call the listeners: a row in the store is to be carried to the broker. The broker's own messages need no
        wake."""
        for listener in self._listeners:
            listener()

    def on_wake(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` at every ``wake``."""
        self._listeners.append(listener)

    async def put(self, queue: str, bodies: Sequence[tuple[bytes, float | None]]) -> None:
        await self._reach(queue)
        for body, _ in bodies:
            self._check_size(queue, body)
        for body, expires_at in bodies:
            await self._append(queue, Posted(body, self._new_uid(), expires_at))

    async def carry(self, queue: str, body: bytes, id: str) -> None:
        """Append a row of the store; a row that is carried twice under one id may arrive once or twice."""
        await self._reach(queue)
        self._check_size(queue, body)
        await self._append(queue, Posted(body, id))

    @property
    def limit(self) -> int:
        """Most bytes of a broker message, as far as known."""
        return self._backend.limit

    async def take(self, queue: str, limit: int, lease: float) -> Sequence[Stored]:
        await self._reach(queue)
        with self._refusals.watching(queue):
            return await self._while_open(queue, self._work_queue(queue).take(limit, lease))

    async def read(self, queue: str, after: int, limit: int) -> Sequence[Stored]:
        await self._reach(queue)
        if queue not in self._readers:
            self._readers[queue] = self._backend.responses(queue, watches=False)
        with self._refusals.watching(queue):
            return await self._while_open(queue, self._readers[queue].read(after, limit))

    async def nonempty(self, prefix: str, known: Collection[str]) -> Mapping[str, bool | None]:
        await self._reach(prefix)
        with self._refusals.watching(f"{prefix}*"):
            return await self._backend.nonempty(prefix, known)

    def watch(self, queue: str) -> Watching:
        part = self._backend.responses(queue, watches=True)
        watching = BrokerWatching(lambda after, limit: self._watch(queue, part, after, limit))
        weakref.finalize(watching, self._let_go, part).atexit = False
        return watching

    async def settle(self, queue: str, tokens: Sequence[int]) -> None:
        await self._reach(queue)
        if (part := self._part(queue)) is not None:
            await part.settle(tokens)

    async def extend(self, queue: str, tokens: Sequence[int], lease: float) -> None:
        await self._reach(queue)
        await self._work_queue(queue).extend(tokens, lease)

    async def bury(
        self, queue: str, dead_letters: Sequence[tuple[int, str]], events: Mapping[int, tuple[str, bytes]] = NO_EVENTS
    ) -> None:
        """Move messages to the dead letters first and settle them then: a crash in between moves a message again."""
        await self._reach(queue)
        part = self._part(queue)
        if part is None:
            return
        found = [
            BrokerDeadLetter(given.body, reason, given.tries, events.get(token))
            for token, reason in dead_letters
            if (given := part.given(token)) is not None
        ]
        await self._bury(queue, found)
        await part.settle([token for token, _ in dead_letters])

    async def close(self) -> None:
        if self._over.is_set():
            return
        self._over.set()
        parts: list[WorkQueue | ResponseQueue] = [*self._work.values()]
        for part in [*parts, *self._readers.values(), *self._watched]:
            await part.close()
        if self._leaving:
            await asyncio.wait(self._leaving)
        async with self._opening:
            if self._is_open:
                await self._backend.close()

    async def _watch(self, queue: str, part: ResponseQueue, after: int, limit: int) -> Sequence[Stored]:
        await self._reach(queue)
        self._watched.add(part)
        return await self._while_open(queue, part.read(after, limit))

    async def _append(self, queue: str, posted: Posted) -> None:
        with self._refusals.watching(queue):
            await self._backend.append(queue, posted)

    async def _bury(self, queue: str, dead_letters: Sequence[BrokerDeadLetter]) -> None:
        if self._bury_in_store is not None:
            await self._bury_in_store(queue, dead_letters)
            return
        for dead_letter in dead_letters:
            await self._append(
                self._dead_letters, Posted(dead_letter_message(queue, dead_letter, self.limit), self._new_uid())
            )

    async def _reach(self, queue: str) -> None:
        self._check_open(queue)
        if not self._is_open:
            with self._refusals.watching(ALL):
                await self.open()
            self._check_open(queue)

    def _check_open(self, queue: str) -> None:
        if self._over.is_set():
            raise TransportError(f"queue {queue}: expected an open transport, found it closed; open another")

    def _check_size(self, queue: str, body: bytes) -> None:
        if len(body) > self.limit:
            raise PayloadTooLarge(
                f"queue {queue}: expected a message of at most {self.limit:,} bytes over {self._backend.name}, "
                f"found {len(body):,}; pass a reference instead, or raise the broker's limit"
            )

    def _work_queue(self, queue: str) -> WorkQueue:
        if queue not in self._work:
            self._work[queue] = self._backend.work(queue)
        return self._work[queue]

    def _part(self, queue: str) -> WorkQueue | ResponseQueue | None:
        return self._readers.get(queue) if queue.startswith(RESPONSES) else self._work.get(queue)

    def _let_go(self, part: ResponseQueue) -> None:
        """Close a view that was garbage-collected; may run in any thread, and after the loop was closed."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._leave, part)

    def _leave(self, part: ResponseQueue) -> None:
        if part in self._watched and not self._over.is_set():
            self._watched.remove(part)
            task = asyncio.ensure_future(part.close())
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)

    async def _while_open(self, queue: str, verb: Coroutine[Any, Any, R]) -> R:
        """Await ``verb``, or raise TransportError when the queues are closed meanwhile."""
        waiting = asyncio.ensure_future(verb)
        over = asyncio.ensure_future(self._over.wait())
        try:
            await asyncio.wait({waiting, over}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            over.cancel()
            await give_up(waiting)
        self._check_open(queue)
        return waiting.result()


class BrokerWatching:
    """Implements ``Watching`` by a function that reads."""

    def __init__(self, read: Callable[[int, int], Awaitable[Sequence[Stored]]]) -> None:
        self._read = read

    async def read(self, after: int, limit: int) -> Sequence[Stored]:
        return await self._read(after, limit)
