"""Warns of a schedule whose nominal time passed without a start for longer than is allowed."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import NamedTuple

from stepward import durations
from stepward.model.records import Alert
from stepward.model.schedule import Schedule
from stepward.model.schedule_overlap import Overlap
from stepward.schedules.nominal_times import delay_of
from stepward.supervisor.early_warnings.warning import warning

WAITS = (Overlap.BUFFER, Overlap.BUFFER_ONE)
"""The policies under which a task starts late because the one before it was at work."""


class LateStart(NamedTuple):
    """A nominal time that passed without a start for longer than is allowed."""

    schedule: str
    nominal_at: float
    late_by: float
    """Seconds."""


class LateStarts:
    """The late starts since they were last taken, one for each schedule."""

    def __init__(self, allowed: float | None) -> None:
        """``allowed`` is how many seconds late a start may be; None if that is no matter."""
        self._allowed = allowed
        self._late: dict[str, LateStart] = {}

    def note(self, schedule: Schedule, now: float) -> None:
        """Keeps the schedule's start, which is at ``now``, if it is late."""
        nominal_at = schedule.next_at
        if self._allowed is None or nominal_at is None or schedule.overlap in WAITS:
            return
        late_by = now - nominal_at - delay_of(schedule, nominal_at)
        if late_by > self._allowed:
            self._late.setdefault(schedule.name, LateStart(schedule.name, nominal_at, late_by))

    def taken(self) -> list[LateStart]:
        """The late starts; they are not kept any longer."""
        late, self._late = list(self._late.values()), {}
        return late


def late_schedules(late: Iterable[LateStart], allowed: float) -> list[Alert]:
    """One alert for each schedule."""
    return [
        warning(
            "schedule_late",
            f"schedule {each.schedule}: expected a start within {durations.text(allowed)} of "
            f"{datetime.fromtimestamp(each.nominal_at, UTC):%Y-%m-%d %H:%M:%S} UTC, found none after "
            f"{durations.text(round(each.late_by))}; see why no Supervisor ran, and whether the task is still needed",
            schedule=each.schedule,
        )
        for each in late
    ]
