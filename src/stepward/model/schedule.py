"""The record of a schedule, and the policies for its nominal times."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Overlap(StrEnum):
    """The policy for a nominal time at which the last task of the schedule is at work."""

    ALLOW = "allow"
    """A task is started beside it."""
    SKIP = "skip"
    """No task is started for this time."""
    BUFFER_ONE = "buffer_one"
    """One task is started when it has ended, for the last time that has passed."""
    BUFFER = "buffer"
    """A task is started for each time, one after the other."""
    CANCEL = "cancel"
    """It is cancelled, and a task is started at once."""


class Schedule(Struct, frozen=True, kw_only=True):
    """A recurring task: its workflow is run at every nominal time of its cron expression, interval or instant."""

    name: str
    workflow: str
    version: str
    input: bytes
    cron: str
    """Five fields, or ``every 15m``, or ``at 2027-01-15T09:00:00Z``."""
    timezone: str
    catch_up: str
    priority: int
    fairness_key: str | None = None
    complete_seconds: float | None = None
    next_at: float | None = None
    """The next nominal time to fire; None if there are no more."""
    fired_at: float | None = None
    """The last nominal time that was fired."""
    paused_at: float | None = None
    overlap: str = Overlap.ALLOW
    """An ``Overlap``."""
    jitter: float = 0.0
    """Seconds by which the start of a task is delayed at most, by chance that its nominal time decides."""
    starts_at: float | None = None
    """The instant from which on nominal times count."""
    ends_at: float | None = None
    """The instant up to which nominal times count."""
    created_by: str | None = None
    """The actor that created it at run time; None for one that an application declares."""
    last_task: str | None = None
    """The id of the task that was fired last."""
