"""Submissions of one client at one time share a statement and a commit; each caller receives its own outcome."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from copy import copy
from typing import NamedTuple

from stepward.errors import CommitUnknown, StoreUnavailable
from stepward.model.pipeline_plan import Plans
from stepward.model.records import Task
from stepward.store.contract import ClientStore, Submitted

MOST_ROWS = 1_000
"""Most rows of one commit, planned steps counted."""
MOST_BYTES = 4 * 2**20
"""Most bytes of arguments in one commit, unless one submission has more."""


class WaitingSubmission(NamedTuple):
    """A submission that came while another was written."""

    task: Task
    plans: Plans
    outcome: asyncio.Future[Submitted]

    @property
    def rows(self) -> int:
        """How many rows it becomes."""
        return 1 + len(self.plans.get((self.task.workflow, self.task.version), ()))

    def resolve(self, submitted: Submitted) -> None:
        """Give the caller its result, unless it no longer waits."""
        if not self.outcome.done():
            self.outcome.set_result(submitted)

    def fail(self, error: Exception) -> None:
        """Raise the error at the caller: a copy, as each has a traceback of its own."""
        if not self.outcome.done():
            self.outcome.set_exception(copy(error))


class GroupedSubmissions:
    """Writes one submission at once, and those that come meanwhile together after it."""

    def __init__(self, store: ClientStore) -> None:
        self._store = store
        self._is_writing = False
        self._waiting: deque[WaitingSubmission] = deque()
        self._rest: asyncio.Task[None] | None = None
        """Writes those that wait; kept here, as the event loop keeps no task alive."""

    async def submit(self, task: Task, plans: Plans) -> Submitted:
        """Record one task, durable when this returns. Raises what ``ClientStore.submit`` does for this one."""
        if self._is_writing:
            outcome: asyncio.Future[Submitted] = asyncio.get_running_loop().create_future()
            self._waiting.append(WaitingSubmission(task, plans, outcome))
            return await outcome
        self._is_writing = True
        try:
            (submitted,) = await self._store.submit([task], plans)
        finally:
            self._go_on()
        return submitted

    def _go_on(self) -> None:
        self._is_writing = bool(self._waiting)
        if self._waiting:
            self._rest = asyncio.get_running_loop().create_task(self._write_rest())

    async def _write_rest(self) -> None:
        group: list[WaitingSubmission] = []
        try:
            while self._waiting:
                group = self._next_group()
                await self._write(group)
        finally:
            # Left only by a cancellation, as when the event loop ends.
            self._is_writing = False
            for each in (*group, *self._waiting):
                each.outcome.cancel()
            self._waiting.clear()

    def _next_group(self) -> list[WaitingSubmission]:
        """The waiting submissions that fit into one commit, in order, without those of cancelled callers."""
        group: list[WaitingSubmission] = []
        rows = size = 0
        while self._waiting:
            first = self._waiting[0]
            if first.outcome.done():
                self._waiting.popleft()
                continue
            rows, size = rows + first.rows, size + len(first.task.input)
            if group and (rows > MOST_ROWS or size > MOST_BYTES):
                break
            group.append(self._waiting.popleft())
        return group

    async def _write(self, group: Sequence[WaitingSubmission]) -> None:
        if not group:
            return
        plans = {key: plan for each in group for key, plan in each.plans.items()}
        try:
            found = await self._store.submit([each.task for each in group], plans)
        except (StoreUnavailable, CommitUnknown) as error:
            for each in group:
                each.fail(error)
        except Exception as error:
            if len(group) == 1:
                group[0].fail(error)
                return
            # Nothing was written; a submission that the store refuses takes no other along.
            for each in group:
                await self._write([each])
        else:
            for each, submitted in zip(group, found, strict=True):
                each.resolve(submitted)
