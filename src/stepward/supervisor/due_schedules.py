"""Recurring tasks that are due: the tasks of the nominal times that have passed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from stepward.errors import DeclarationError
from stepward.events import Observers
from stepward.model.records import Schedule, Task
from stepward.schedules import due_times, task_id
from stepward.store.contract import SupervisorStore

MOST = 1000
"""Recurring tasks of one pass."""


class DueSchedules:
    """Fires recurring tasks for a Supervisor."""

    def __init__(self, store: SupervisorStore, observers: Observers, new_uid: Callable[[], str]) -> None:
        self._store = store
        self._observers = observers
        self._new_uid = new_uid

    async def fire(self, term: int) -> int:
        """Submit what is due; how many tasks."""
        fired = 0
        for schedule in await self._store.due_schedules(MOST):
            now = self._store.now()
            try:
                times, next_at = due_times(schedule, now)
            except DeclarationError as error:
                # Written by a newer program; the others continue.
                self._observers.tell("schedule.unreadable", schedule=schedule.name, error=str(error))
                continue
            tasks = tasks_of(schedule, times, now, self._new_uid)
            if await self._store.fire(term, schedule, tasks, next_at):
                fired += len(tasks)
                self._observers.tell("schedule.fired", schedule=schedule.name, tasks=len(tasks))
        return fired


def tasks_of(schedule: Schedule, times: Sequence[float], now: float, new_uid: Callable[[], str]) -> list[Task]:
    """A task for each nominal time; its id contains both, so that a time cannot be fired twice."""
    return [_task(schedule, instant, now, new_uid()) for instant in times]


def _task(schedule: Schedule, instant: float, now: float, uid: str) -> Task:
    limit = schedule.complete_seconds
    return Task(
        uid=uid,
        id=task_id(schedule.name, instant),
        workflow=schedule.workflow,
        version=schedule.version,
        priority=schedule.priority,
        fairness_key=schedule.fairness_key,
        labels=msgspec.json.encode({"schedule": schedule.name}),
        input=schedule.input,
        deadline=None if limit is None else now + limit,
        created_at=now,
    )
