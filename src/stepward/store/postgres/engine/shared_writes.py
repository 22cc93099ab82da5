"""Acts of one kind that come at one time share statements and a commit; each caller receives its own outcome."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Hashable, Sequence
from copy import copy
from enum import Enum
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from stepward.errors import CommitUnknown, StoreUnavailable

A = TypeVar("A")
R = TypeVar("R")

MOST_ROWS = 1_000
"""Most rows of one commit."""
MOST_BYTES = 4 * 2**20
"""Most bytes of payloads in one commit, unless one act has more."""


class Apart(Enum):
    """The outcome of an act that a group leaves out: it is written in a transaction of its own, beside the others."""

    APART = "apart"


Outcome: TypeAlias = R | Exception | Apart
"""What a group has for one of its acts: the result, the error that its caller is to be raised, or neither."""


class ActSize(NamedTuple):
    """The size of an act."""

    rows: int
    payload: int
    """In bytes."""


class WaitingAct(NamedTuple, Generic[A, R]):
    """An act that came while another was written."""

    act: A
    outcome: asyncio.Future[R]

    def resolve(self, result: R) -> None:
        """Give the caller its result, unless it no longer waits."""
        if not self.outcome.done():
            self.outcome.set_result(result)

    def fail(self, error: Exception) -> None:
        """Raise the error at the caller, unless it no longer waits."""
        if not self.outcome.done():
            self.outcome.set_exception(error)


class SharedWrites(Generic[A, R]):
    """Writes one act at once, and those that come meanwhile together after it.

    ``alone`` writes one; ``together`` writes several and returns their outcomes in order, or raises with none written.
    """

    def __init__(
        self,
        alone: Callable[[A], Awaitable[R]],
        together: Callable[[Sequence[A]], Awaitable[Sequence[Outcome[R]]]],
        size: Callable[[A], ActSize],
    ) -> None:
        self._alone = alone
        self._together = together
        self._size = size
        self._is_writing = False
        self._waiting: deque[WaitingAct[A, R]] = deque()
        self._rest: asyncio.Task[None] | None = None
        """Writes those that wait; kept here, as the event loop keeps no task alive."""
        self._apart: set[asyncio.Task[None]] = set()
        """Write those that groups left out: what one of them waits for, as a lock, delays no group."""

    async def write(self, act: A) -> R:
        """The result of one act, which is durable then. Raises what ``alone`` does for it."""
        if self._is_writing:
            outcome: asyncio.Future[R] = asyncio.get_running_loop().create_future()
            self._waiting.append(WaitingAct(act, outcome))
            return await outcome
        self._is_writing = True
        try:
            return await self._alone(act)
        finally:
            self._go_on()

    def _go_on(self) -> None:
        self._is_writing = bool(self._waiting)
        if self._waiting:
            self._rest = asyncio.get_running_loop().create_task(self._write_rest())

    async def _write_rest(self) -> None:
        group: list[WaitingAct[A, R]] = []
        try:
            while self._waiting:
                group = self._next_group()
                await self._write(group)
        except BaseException:
            # A cancellation, as when the event loop ends.
            for each in (*group, *self._waiting):
                each.outcome.cancel()
            self._waiting.clear()
            raise
        finally:
            self._is_writing = False

    def _next_group(self) -> list[WaitingAct[A, R]]:
        """The waiting acts that fit into one commit, in order, without those of cancelled callers."""
        group: list[WaitingAct[A, R]] = []
        rows = payload = 0
        while self._waiting:
            first = self._waiting[0]
            if first.outcome.done():
                self._waiting.popleft()
                continue
            size = self._size(first.act)
            rows, payload = rows + size.rows, payload + size.payload
            if group and (rows > MOST_ROWS or payload > MOST_BYTES):
                break
            group.append(self._waiting.popleft())
        return group

    async def _write(self, group: Sequence[WaitingAct[A, R]]) -> None:
        if len(group) == 1:
            await self._write_one(group[0])
        elif group:
            await self._write_all(group)

    async def _write_one(self, waiting: WaitingAct[A, R]) -> None:
        try:
            result = await self._alone(waiting.act)
        except Exception as error:
            waiting.fail(error)
        except asyncio.CancelledError:
            waiting.outcome.cancel()
            raise
        else:
            waiting.resolve(result)

    async def _write_all(self, group: Sequence[WaitingAct[A, R]]) -> None:
        try:
            found = await self._together([each.act for each in group])
        except (StoreUnavailable, CommitUnknown) as error:
            for each in group:
                # A copy, as each has a traceback of its own.
                each.fail(copy(error))
        except Exception:
            # Nothing was written; an act that the store refuses takes no other along.
            for each in group:
                await self._write_one(each)
        else:
            self._hand_out(group, found)

    def _hand_out(self, group: Sequence[WaitingAct[A, R]], outcomes: Sequence[Outcome[R]]) -> None:
        for each, outcome in zip(group, outcomes, strict=True):
            if isinstance(outcome, Exception):
                each.fail(outcome)
            elif isinstance(outcome, Apart):
                writing = asyncio.get_running_loop().create_task(self._write_one(each))
                self._apart.add(writing)
                writing.add_done_callback(self._apart.discard)
            else:
                each.resolve(outcome)


def in_rounds(acts: Sequence[A], place: Callable[[A], Hashable]) -> list[list[int]]:
    """The positions of acts, in rounds: acts at one place are in different rounds, in their order."""
    met = Counter[Hashable]()
    rounds: list[list[int]] = []
    for position, act in enumerate(acts):
        number = met[place(act)]
        met[place(act)] += 1
        if number == len(rounds):
            rounds.append([])
        rounds[number].append(position)
    return rounds
