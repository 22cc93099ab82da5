"""The record of a schedule."""

from __future__ import annotations

from msgspec import Struct

from stepward.model.schedule_overlap import Overlap


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
