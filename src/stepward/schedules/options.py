"""The options of a schedule."""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict

from stepward.durations import Duration
from stepward.model.schedule_overlap import OverlapPolicy
from stepward.schedules.nominal_times import CatchUp


class DeclaredScheduleOptions(TypedDict, total=False):
    """The options of a schedule that code declares, beside its cron expression."""

    overlap: OverlapPolicy
    """The policy for a time at which the last task is at work; ``skip`` unless given, ``allow`` if declared."""
    jitter: Duration
    """The longest delay of a start."""
    catch_up: CatchUp
    """The policy for times that were missed in an outage; ``one`` unless given."""
    priority: int
    """The priority of its tasks; 5 unless given."""
    fairness_key: str | None
    """The fairness key of its tasks."""


class ScheduleOptions(DeclaredScheduleOptions, total=False):
    """The options of ``Client.create_schedule``; exactly one of ``cron``, ``every`` and ``at`` is given."""

    cron: str
    """Five fields: ``"0 2 * * *"``."""
    every: Duration
    """An interval of a second or more; nominal times are its multiples since 1970 in UTC."""
    at: datetime | str
    """One time, aware or as ISO 8601 with an offset."""
    timezone: str
    """The zone of the cron expression; UTC unless given."""
    start: datetime | str
    """The instant from which on nominal times count."""
    end: datetime | str
    """The instant up to which nominal times count."""
