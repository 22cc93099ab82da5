"""Submissions that are born claimed: whoever submits in this process is answered when the turn's commit is through."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator

from stepward.errors import StoreUnavailable
from stepward.model.records import Task
from stepward.model.states import TaskState
from stepward.scheduler.commits import UNAVAILABLE
from stepward.store.contract import Submitted

Answered = asyncio.Future[Submitted | None]
"""None: not born here; whoever submits asks the store."""
AT_ONCE = 5000
"""Submissions born in one turn."""


class LocalSubmissions:
    """The submissions that wait for a turn, and those of the turn that is under way."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[Task, Answered]] = deque()
        self._under_way: dict[str, Answered] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, task: Task) -> Answered:
        """Let the task be born in the next turn."""
        future: Answered = asyncio.get_running_loop().create_future()
        self._waiting.append((task, future))
        return future

    def begin(self, instance: str, now: float) -> Iterator[Task]:
        """The tasks of this turn, as they stand once the instance has claimed them."""
        self._under_way = {}
        while self._waiting and len(self._under_way) < AT_ONCE:
            task, future = self._waiting.popleft()
            if not future.cancelled():
                self._under_way[task.uid] = future
                task.state, task.locked_by, task.started_at = TaskState.PROCESSING, instance, now
                yield task

    def done(self, task: Task) -> None:
        """The commit that bore the task is through."""
        future = self._under_way.get(task.uid)
        if future is not None and not future.done():
            future.set_result(Submitted(task.uid, task.id, True, True))

    def missed(self, task: Task, reason: str) -> bool:
        """The task was not born; False if it was no birth of this turn."""
        future = self._under_way.get(task.uid)
        if future is None:
            return False
        if not future.done():
            _refuse(future, reason)
        return True

    def end(self) -> None:
        """Whoever submits asks the store instead: a birth whose commit gave no answer is found there by its id."""
        for future in (*self._under_way.values(), *(future for _, future in self._waiting)):
            if not future.done():
                future.set_result(None)
        self._waiting.clear()


def _refuse(future: Answered, reason: str) -> None:
    if reason.startswith(UNAVAILABLE):
        future.set_exception(StoreUnavailable(reason))
    else:
        future.set_result(None)
