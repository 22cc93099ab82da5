"""Writers of one store object wait in one queue; the first of them writes for all that wait, in one commit.

As in LevelDB, the first writer leads: it begins the transaction, runs its own work and that of the writers behind it,
each in a savepoint, and commits. Each receives its own outcome: what one's work raises undoes that work alone. A
writer alone does not come here, but writes at once. Store objects of one process on one file take turns, in the order
in which they asked.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from copy import copy
from typing import Any, Protocol, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

from stepward.store.sqlite.engine.busy_wait import BusyWait
from stepward.store.sqlite.engine.connection import Connection
from stepward.store.sqlite.engine.error_translation import BUSY

T = TypeVar("T")
Work = Callable[[Connection], T]

HOLD_SECONDS = 0.005
"""Seconds of work after which a commit takes in no further writer: the event loop runs between two commits."""
MOST_WRITERS = 1_000
"""Most writers that share a commit."""

_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, WeakValueDictionary[str, asyncio.Lock]] = WeakKeyDictionary()


def writer_lock(path: str) -> asyncio.Lock:
    """The lock of all who write to that file on the running event loop; it is gone with the last of them."""
    turns = _turns.setdefault(asyncio.get_running_loop(), WeakValueDictionary())
    place = path if path.startswith("file:") else os.path.realpath(path)
    turn = turns.get(place)
    if turn is None:
        turn = turns[place] = asyncio.Lock()
    return turn


class Writing(Protocol):
    """The transactions of a store object; none waits, and each raises what BUSY lists if the file is locked."""

    def alone(self, work: Work[T], *, is_single: bool) -> T:
        """Run work in a transaction of its own; ``is_single``: it is one statement, which commits by itself."""
        ...

    def together(self, fill: Callable[[Connection], None]) -> None:
        """Run the work of several writers in one transaction."""
        ...

    def part(self, connection: Connection, work: Work[T]) -> T:
        """Run the work of one of them, in a savepoint."""
        ...


class Writer:
    """A caller that waits until its work is written."""

    __slots__ = ("_cancellations", "_error", "_result", "_task", "_waiter", "context", "is_over", "is_single", "work")

    def __init__(self, work: Work[Any], *, is_single: bool) -> None:
        self.work = work
        self.is_single = is_single
        self.context = copy_context()
        self.is_over = False
        self._result: Any = None
        self._error: BaseException | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._task = asyncio.current_task()
        self._cancellations = 0 if self._task is None else self._task.cancelling()

    @property
    def is_cancelled(self) -> bool:
        """Whether it was cancelled while it waits."""
        return self._task is not None and self._task.cancelling() > self._cancellations

    async def wait(self) -> None:
        """Wait until its work is written, or it is the first of the queue."""
        self._waiter = asyncio.get_running_loop().create_future()
        await self._waiter

    def wake(self) -> None:
        """End its wait."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def succeed(self, result: Any) -> None:
        """Its work is written."""
        self.is_over, self._result = True, result
        if self._waiter is not None:
            self.wake()

    def fail(self, error: BaseException) -> None:
        """Its work raised an error, or the commit did."""
        self.is_over, self._error = True, error
        self.wake()

    def outcome(self) -> Any:
        """The result of its work, or what it raised."""
        if self._error is not None:
            raise self._error
        return self._result


class Undone(Exception):
    """SQLite has rolled back the whole transaction, for what the last writer's work raised."""


class Group:
    """The writers of one commit and what became of the work of each."""

    def __init__(self, waiting: deque[Writer], writing: Writing, now: Callable[[], float]) -> None:
        self._waiting = waiting
        self._writing = writing
        self._now = now
        self._ended: list[tuple[Writer, Any, Exception | None]] = []

    def write(self) -> None:
        """Write as many of those that wait as one commit takes; raises what BUSY lists, with none written."""
        try:
            self._writing.together(self._fill)
        except BUSY:
            self._wait_again()
            raise
        except Undone:
            writer, _, error = self._ended.pop()
            self._wait_again()
            if error is not None:
                writer.fail(error)
        except BaseException as error:
            if not self._ended:
                self._ended.append((self._waiting.popleft(), None, None))
            for writer, _, own in self._ended:
                writer.fail(own or copy(error))
        else:
            for writer, result, own in self._ended:
                if own is None:
                    writer.succeed(result)
                else:
                    writer.fail(own)

    def _fill(self, connection: Connection) -> None:
        until = self._now() + HOLD_SECONDS
        while self._waiting and not self._waiting[0].is_cancelled:
            writer = self._waiting.popleft()
            writer.context.run(self._run, connection, writer)
            if not connection.raw.in_transaction:
                raise Undone
            if len(self._ended) >= MOST_WRITERS or self._now() >= until:
                break

    def _run(self, connection: Connection, writer: Writer) -> None:
        result, error = None, None
        try:
            result = self._writing.part(connection, writer.work)
        except BUSY:
            raise
        except Exception as raised:
            error = raised
        finally:
            self._ended.append((writer, result, error))

    def _wait_again(self) -> None:
        self._waiting.extendleft(writer for writer, *_ in reversed(self._ended))
        self._ended.clear()


class WriterQueue:
    """The writers of one store object, in the order in which they came."""

    def __init__(self, turn: asyncio.Lock, writing: Writing, busy: BusyWait, *, now: Callable[[], float]) -> None:
        self._turn = turn
        self._writing = writing
        self._busy = busy
        self._now = now
        self.waiting: deque[Writer] = deque()
        self._is_led = False
        """Whether the first of them waits for the file."""

    async def write(self, work: Work[T], *, is_single: bool, is_first: bool) -> T:
        """The result of work, which is durable then.

        Work may run again from its beginning. A caller that is cancelled before its work runs writes nothing.
        ``is_single``: it is one statement. ``is_first``: the caller came before all that wait; another lets the event
        loop run at least once.
        """
        writer, since = Writer(work, is_single=is_single), self._busy.waited
        came_at = asyncio.get_running_loop().time()
        if is_first and not self._is_led:
            self.waiting.appendleft(writer)
        else:
            self.waiting.append(writer)
        try:
            if not is_first:
                await asyncio.sleep(0)
            while not writer.is_over:
                if self.waiting[0] is writer:
                    await self._lead(since, came_at)
                else:
                    await writer.wait()
        finally:
            if not writer.is_over:
                self.waiting.remove(writer)
            if self.waiting:
                self.waiting[0].wake()
        result: T = writer.outcome()
        return result

    async def _lead(self, since: float, came_at: float) -> None:
        """Write the work of the first writer and of those behind it, as soon as the file is free."""
        gate = self._busy.gate
        if not self._turn.locked() and (gate is None or gate.is_open()):
            with suppress(*BUSY):
                return self._commit()
        self._is_led = True
        try:
            async with self._busy.held(self._turn, since=came_at):
                await self._busy.write(self._commit, since)
        finally:
            self._is_led = False

    def _commit(self) -> None:
        if len(self.waiting) > 1:
            Group(self.waiting, self._writing, self._now).write()
            return
        (writer,) = self.waiting
        try:
            result = self._writing.alone(writer.work, is_single=writer.is_single)
        except BUSY:
            raise
        except BaseException as error:
            writer.fail(error)
        else:
            writer.succeed(result)
        self.waiting.popleft()
