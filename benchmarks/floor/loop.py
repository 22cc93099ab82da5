"""The loop over batches: what a turn of many tasks writes, one commit a turn."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from msgspec.structs import astuple

from benchmarks.floor.rows import LATER, finish_row, step_row, task_row
from stepward.clock import Environment

STEPS = 10
FILLED_AT_ONCE = 1_000

Row = tuple[Any, ...]


class Rows(NamedTuple):
    """What one query of the store writes for each of some tasks."""

    query: str
    uids: Sequence[str]
    row_of: Callable[[str], Row]


class Floor(ABC):
    """Hand-written batches on one connection."""

    def __init__(self) -> None:
        self._environment = Environment()

    async def ten_step_tasks(self, tasks: int, at_once: int) -> float:
        """Steps a second of ``tasks`` ten-step tasks, ``at_once`` of them to a batch; one commit a turn."""
        began = time.perf_counter()
        for first in range(0, tasks, at_once):
            await self._ten_steps(self._uids(min(at_once, tasks - first)))
        return tasks * STEPS / (time.perf_counter() - began)

    async def one_task(self, repeats: int) -> float:
        """Median seconds of one ten-step task alone: eleven commits."""
        seconds = []
        for _ in range(repeats):
            began = time.perf_counter()
            await self._ten_steps(self._uids(1))
            seconds.append(time.perf_counter() - began)
        return sorted(seconds)[repeats // 2]

    async def finished_tasks(self, count: int) -> None:
        """Fill the store with tasks that were processed long ago, a step each."""
        for first in range(0, count, FILLED_AT_ONCE):
            uids = self._uids(min(FILLED_AT_ONCE, count - first))
            await self.write(_born(uids))
            await self.write([_finished(uids, 1), self._ended(uids)])

    async def live_tasks(self, count: int, *, complete_by: float = LATER) -> None:
        """Fill the store with tasks of which each has a step that runs, and that the Supervisor watches."""

        def watched(uid: str) -> Row:
            return astuple(step_row(uid, 1, complete_by=complete_by, watched=True))

        for first in range(0, count, FILLED_AT_ONCE):
            uids = self._uids(min(FILLED_AT_ONCE, count - first))
            await self.write([_tasks(uids), Rows("insert_step", uids, watched)])

    @abstractmethod
    async def write(self, batch: Sequence[Rows]) -> None:
        """Write rows in one transaction."""

    @abstractmethod
    async def close(self) -> None:
        """Let go of the connection."""

    @abstractmethod
    def _end(self, uid: str) -> Row:
        """What the query ``move_task`` is given for a task that is processed."""

    async def _ten_steps(self, uids: Sequence[str]) -> None:
        await self.write(_born(uids))
        for number in range(2, STEPS + 1):
            await self.write([_finished(uids, number - 1), _begun(uids, number)])
        await self.write([_finished(uids, STEPS), self._ended(uids)])

    def _ended(self, uids: Sequence[str]) -> Rows:
        return Rows("move_task", uids, self._end)

    def _uids(self, count: int) -> list[str]:
        return [self._environment.new_uid() for _ in range(count)]


def _born(uids: Sequence[str]) -> list[Rows]:
    return [_tasks(uids), _begun(uids, 1)]


def _tasks(uids: Sequence[str]) -> Rows:
    return Rows("insert_task", uids, lambda uid: astuple(task_row(uid)))


def _begun(uids: Sequence[str], number: int) -> Rows:
    return Rows("insert_step", uids, lambda uid: astuple(step_row(uid, number)))


def _finished(uids: Sequence[str], number: int) -> Rows:
    return Rows("finish", uids, lambda uid: astuple(finish_row(uid, number)))
