"""How everything stands at a glance: counts that cost the same however many tasks there are."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from stepward.model.states import TaskState

MOST_COUNTED = 10_000
"""Beyond it a count says that there are more."""


class StateCount(Struct, frozen=True):
    """How many live tasks, or tasks in error, are in a state; at most MOST_COUNTED + 1."""

    state: TaskState
    count: int
    oldest_at: float | None
    """When the oldest of them was submitted; None where there is none."""


class Overview(Struct, frozen=True, kw_only=True):
    """Whether everything moves, what needs an operator, and what is late."""

    states: list[StateCount]
    late: int
    """Live tasks that have used up a part of the time until their deadline."""
    open_alerts: int
    dead_letters: int
    leader: str | None
    """The instance of the Supervisor that leads."""


class FlowCount(Struct, frozen=True):
    """How many tasks were ``submitted``, or ended in a state, within one bucket of time."""

    bucket: int
    what: str
    count: int


class OverviewStore(Protocol):
    """Figures over all tasks."""

    async def overview(self, late_from: float) -> Overview:
        """Counts by state; a task is late once the part ``late_from`` (0 to 1) of its time is used up."""
        ...

    async def flow(self, since: float, seconds: float) -> list[FlowCount]:
        """What was submitted and what ended since an instant, in buckets of so many seconds.

        The newest 100,000 of each kind are looked at.
        """
        ...
