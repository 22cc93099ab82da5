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

FloorRow = tuple[Any, ...]


class FloorRows(NamedTuple):
    """What one query of the store writes for each of some tasks."""

    query: str
    uids: Sequence[str]
    row_of: Callable[[str], FloorRow]


class Statement(NamedTuple):
    """SQL, and the values that it is executed with, in the shape that the driver takes."""

    sql: str
    values: Sequence[Any]


Commit = Sequence[Statement]
"""What one transaction executes."""


class FloorEngine(ABC):
    """Hand-written batches on one connection."""

    def __init__(self) -> None:
        self._environment = Environment()

    async def ten_step_tasks(self, tasks: int, at_once: int) -> float:
        """Steps a second of ``tasks`` ten-step tasks, ``at_once`` of them to a batch; one commit a turn."""
        sizes = [min(at_once, tasks - first) for first in range(0, tasks, at_once)]
        return tasks * STEPS / await self._seconds([commit for size in sizes for commit in self._ten_steps(size)])

    async def one_task(self, repeats: int) -> float:
        """Median seconds of one ten-step task alone: eleven commits."""
        seconds = [await self._seconds(self._ten_steps(1)) for _ in range(repeats)]
        return sorted(seconds)[repeats // 2]

    async def finished_tasks(self, count: int) -> None:
        """Fill the store with tasks that were processed long ago, a step each."""
        for first in range(0, count, FILLED_AT_ONCE):
            uids = self._uids(min(FILLED_AT_ONCE, count - first))
            await self.write(self.prepared(_born(uids)))
            await self.write(self.prepared([_finished(uids, 1), self._ended(uids)]))

    async def live_tasks(self, count: int, *, complete_by: float = LATER) -> None:
        """Fill the store with tasks of which each has a step that runs, and that the Supervisor watches."""

        def watched(uid: str) -> FloorRow:
            return astuple(step_row(uid, 1, complete_by=complete_by, watched=True))

        for first in range(0, count, FILLED_AT_ONCE):
            uids = self._uids(min(FILLED_AT_ONCE, count - first))
            await self.write(self.prepared([_tasks(uids), FloorRows("insert_step", uids, watched)]))

    @abstractmethod
    def prepared(self, batch: Sequence[FloorRows]) -> Commit:
        """Make the rows of one transaction, so that writing them is all that remains."""

    @abstractmethod
    async def write(self, commit: Commit) -> None:
        """Write prepared rows in one transaction."""

    @abstractmethod
    async def close(self) -> None:
        """Let go of the connection."""

    @abstractmethod
    def _end(self, uid: str) -> FloorRow:
        """What the query ``move_task`` is given for a task that is processed."""

    async def _seconds(self, commits: Sequence[Commit]) -> float:
        """How long writing takes: nothing is made meanwhile."""
        began = time.perf_counter()
        for commit in commits:
            await self.write(commit)
        return time.perf_counter() - began

    def _ten_steps(self, tasks: int) -> list[Commit]:
        uids = self._uids(tasks)
        turns = [[_finished(uids, number - 1), _begun(uids, number)] for number in range(2, STEPS + 1)]
        return [self.prepared(batch) for batch in (_born(uids), *turns, [_finished(uids, STEPS), self._ended(uids)])]

    def _ended(self, uids: Sequence[str]) -> FloorRows:
        return FloorRows("move_task", uids, self._end)

    def _uids(self, count: int) -> list[str]:
        return [self._environment.new_uid() for _ in range(count)]


def _born(uids: Sequence[str]) -> list[FloorRows]:
    return [_tasks(uids), _begun(uids, 1)]


def _tasks(uids: Sequence[str]) -> FloorRows:
    return FloorRows("insert_task", uids, lambda uid: astuple(task_row(uid)))


def _begun(uids: Sequence[str], number: int) -> FloorRows:
    return FloorRows("insert_step", uids, lambda uid: astuple(step_row(uid, number)))


def _finished(uids: Sequence[str], number: int) -> FloorRows:
    return FloorRows("finish", uids, lambda uid: astuple(finish_row(uid, number)))
