"""Counts over all tasks, each of which costs the same however many tasks there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from stepward.model.agent_stats import StepAttempts
from stepward.model.records import Task
from stepward.model.states import TaskState

MOST_IN_FLOW = 100_000
"""The newest tasks that were submitted, and that ended, among which ``flow`` counts."""
MOST_IN_ERROR = 10_000
"""The newest tasks in error among which ``flow`` counts."""
MOST_TASKS_TIMED = 1_000
"""The newest tasks among whose steps ``attempts`` looks."""
MOST_STEPS_TIMED = 5_000
"""The steps of those tasks among which ``attempts`` looks."""
MOST_SAMPLED = 100_000
"""The bound of a count in a sample."""
MOST_COUNTED = 10_000
"""The bound of a count; a higher count says that there are more."""


class StateCount(Struct, frozen=True):
    """The number of tasks in a live state, or in error; at most MOST_COUNTED + 1."""

    state: TaskState
    count: int
    oldest_at: float | None
    """The submission of the oldest of them; None if there is none."""


class Overview(Struct, frozen=True, kw_only=True):
    """Tasks by state, what needs an operator, and what is late."""

    states: list[StateCount]
    late: int
    """Live tasks that have used a given share of the time until their deadline."""
    open_alerts: int
    dead_letters: int
    leader: str | None
    """The instance of the leading Supervisor."""


class FlowCount(Struct, frozen=True):
    """The number of tasks that were ``submitted`` or ended in a state, or of attempts that the Supervisor has
    ``decided`` on, within one bucket of time."""

    bucket: int
    what: str
    count: int


class QueueLength(Struct, frozen=True):
    """A queue of the store."""

    queue: str
    messages: int
    """At most MOST_COUNTED + 1."""
    posted_at: float | None
    """When its next message was posted, if the message says so: those of applications do."""


class StateSample(Struct, frozen=True):
    """How many tasks were in each live state, and in error, at an instant."""

    at: float
    counts: dict[str, int]
    """By state; each count stops at MOST_SAMPLED, and a state without tasks is left out."""


class ChangesPlace(Struct, frozen=True):
    """The place up to which changes of tasks were read."""

    at: float
    """An instant of the store's clock."""
    alert: int
    """The number of an alert."""
    act: int
    """The number of an act of the audit."""


class ChangedTasks(Struct, frozen=True, kw_only=True):
    """Tasks that have changed, in their present state, and the place to read on from."""

    tasks: list[Task]
    """Without their payloads; some may be unchanged since the last reading."""
    place: ChangesPlace
    is_cut: bool = False
    """Whether more tasks have changed than one reading returns; the others are left out."""


class OverviewStore(Protocol):
    """Counts over all tasks."""

    async def overview(self, late_from: float) -> Overview:
        """Counts by state; a task is late once it has used the share ``late_from`` (0 to 1) of the time until its
        deadline."""
        ...

    async def flow(self, since: float, seconds: float) -> list[FlowCount]:
        """Tasks submitted and ended, and attempts decided on, since an instant, in buckets of so many seconds.

        Covers the newest MOST_IN_FLOW tasks that were submitted, as many that ended, the newest MOST_IN_ERROR in error,
        and the newest 5,000 acts of the audit.
        """
        ...

    async def queues(self) -> list[QueueLength]:
        """The first 100 queues of the store that have messages, by name."""
        ...

    async def attempts(self, since: float) -> list[StepAttempts]:
        """The attempts at Agents of the newest MOST_TASKS_TIMED tasks submitted since an instant, among their first
        MOST_STEPS_TIMED steps, those of the newest task first."""
        ...

    async def state_samples(self, since: float, seconds: float) -> list[StateSample]:
        """The first sample of each bucket of so many seconds since an instant, oldest first."""
        ...

    async def changes(self, after: ChangesPlace | None, also: Sequence[str] = ()) -> ChangedTasks:
        """Lists tasks that were submitted, ended, raised an alert or were acted upon since, and the uids ``also``.

        None returns no task and the present place. Changes that commit seconds after their instant may be left out.
        """
        ...
