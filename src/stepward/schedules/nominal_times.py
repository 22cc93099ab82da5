"""The nominal times of a schedule that are due, and the tasks that they start. Pure: instants in, seconds out."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Literal

import msgspec

from stepward.model.records import Task
from stepward.model.schedule import Schedule
from stepward.model.schedule_overlap import Overlap
from stepward.schedules.timetable import timetable

CatchUp = Literal["one", "all", "none"]
"""The handling of nominal times missed in an outage: fire the last one, all, or none."""
CATCH_UPS = ("one", "all", "none")
LATE_SECONDS = 60.0
"""Seconds after which a nominal time counts as missed."""
MOST_AT_ONCE = 1_000
RESOLUTION = 1e-3
"""Seconds before a bound that is included."""


def next_time(schedule: Schedule, instant: float) -> float | None:
    """The first nominal time after ``instant`` within the schedule's bounds; None if there is none."""
    begin = instant if schedule.starts_at is None else max(instant, schedule.starts_at - RESOLUTION)
    return _within(schedule, timetable(schedule.cron, schedule.timezone).after(begin))


def due_times(schedule: Schedule, now: float) -> tuple[list[float], float | None]:
    """The nominal times to fire now, at most 1,000, and the next one to look at after them.

    Where tasks may not overlap, at most one time is fired: the first for ``buffer``, the last for the others.
    """
    times = timetable(schedule.cron, schedule.timezone)
    first = schedule.next_at
    if first is None or first > now:
        return [], first
    if schedule.overlap == Overlap.BUFFER:
        return [first], _within(schedule, times.after(first))
    until = now if schedule.ends_at is None else min(now, schedule.ends_at)
    if schedule.catch_up == "all" and schedule.overlap == Overlap.ALLOW:
        due = [instant for instant, _ in zip(times.between(first, until), range(MOST_AT_ONCE), strict=False)]
        return due, _within(schedule, times.after(due[-1]))
    following = times.after(first)
    is_only = following is None or following > now
    last = first if is_only else max(first, times.last(until) or first)
    missed = schedule.catch_up == "none" and now - last > LATE_SECONDS
    if not is_only:
        following = times.after(max(last, now) if missed else last)
    return ([] if missed else [last]), _within(schedule, following)


def times_within(schedule: Schedule, start: float, end: float) -> list[float]:
    """The nominal times from ``start`` to ``end``, both included, at most one more than 1,000."""
    times = timetable(schedule.cron, schedule.timezone)
    first = times.after(start - RESOLUTION)
    if first is None or first > end:
        return []
    return list(itertools.islice(times.between(first, end), MOST_AT_ONCE + 1))


def delay_of(schedule: Schedule, instant: float) -> float:
    """Seconds by which the task of a nominal time starts later: up to the jitter, the same in every process."""
    if not schedule.jitter:
        return 0.0
    drawn = sha256(f"{schedule.name}@{instant!r}".encode()).digest()[:8]
    return schedule.jitter * int.from_bytes(drawn) / 2**64


def _within(schedule: Schedule, instant: float | None) -> float | None:
    is_past = instant is not None and schedule.ends_at is not None and instant > schedule.ends_at
    return None if is_past else instant


def task_id(name: str, instant: float) -> str:
    """The id of the task of one nominal time: unique, so that it cannot be fired twice."""
    return f"{name}@{datetime.fromtimestamp(instant, UTC):%Y-%m-%dT%H:%M:%SZ}"


def tasks_of(schedule: Schedule, times: Sequence[float], now: float, new_uid: Callable[[], str]) -> list[Task]:
    """A task for each nominal time; its id contains both, so that a time cannot be fired twice."""
    return [
        scheduled_task(schedule, task_id(schedule.name, instant), new_uid(), now, instant=instant) for instant in times
    ]


def scheduled_task(schedule: Schedule, id: str, uid: str, now: float, *, instant: float | None = None) -> Task:
    """A task of a schedule; one of a nominal time starts later by the schedule's jitter."""
    starts_at = None if instant is None else instant + delay_of(schedule, instant)
    is_later = starts_at is not None and starts_at > now
    limit = schedule.complete_seconds
    begin = max(now, starts_at or now)
    return Task(
        uid=uid,
        id=id,
        workflow=schedule.workflow,
        version=schedule.version,
        priority=schedule.priority,
        fairness_key=schedule.fairness_key,
        labels=msgspec.json.encode({"schedule": schedule.name}),
        input=schedule.input,
        deadline=None if limit is None else begin + limit,
        wake_at=starts_at if is_later else None,
        created_at=now,
    )
