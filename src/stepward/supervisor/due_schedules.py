"""Recurring tasks that are due, pure: the tasks of the nominal times that have passed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from stepward.model.records import Schedule, Task
from stepward.schedules import task_id


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
