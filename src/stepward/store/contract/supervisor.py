"""The Supervisor's part of the store: who leads, what is due, and one decision on each expiry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from stepward.model.records import Alert, Audit, Instance, Schedule, Task
from stepward.model.states import StepState, TaskState
from stepward.store.contract.retention import OldRecords, Outlived, PruningStore, Purged, RetentionStore
from stepward.store.contract.values.change_rows import Post
from stepward.store.contract.values.server import Standby


class Due(Struct, frozen=True, kw_only=True):
    """What a pass has to do; the one statement that an idle pass runs."""

    dead_instances: int
    free_tasks: int
    """Tasks still held by instances already dead."""
    steps: int
    tasks: int
    unserved: int
    alerts: int
    schedules: int
    """Recurring tasks whose next nominal time has come."""
    grace: int = 0
    """Whether tasks are left that have not had the grace after an outage: until they have, nothing is judged."""


class ExpiredStep(Struct, frozen=True, kw_only=True):
    """A watched running step past its complete-by, with what the judge needs."""

    task: str
    task_id: str
    run: int
    key: str
    attempt: int
    failure_count: int
    kind: str
    complete_by: float
    task_state: TaskState
    workflow: str
    version: str
    policy: bytes | None
    error: bytes | None


class Decision(Struct, frozen=True, kw_only=True):
    """The one decision on a (step, attempt): leave ``running`` for ``state``, count a failure, tell the owner.

    ``to_repeat`` comes with ``repeat_at``; ``failed`` with the inbox row that says what follows.
    """

    task: str
    run: int
    key: str
    attempt: int
    state: StepState
    repeat_at: float | None
    error: bytes | None
    posts: tuple[Post, ...]
    audit: Audit
    in_doubt: bool = True
    """Whether the attempt may have acted; what the row knows of earlier ones stays."""


class ExpiredTask(Struct, frozen=True, kw_only=True):
    """A live task past its own deadline."""

    task: str
    task_id: str
    state: TaskState
    deadline: float
    policy: bytes | None
    failure_count: int = 0
    allowed: float = 0.0
    """Seconds that its workflow gives a task, or its submission gave this one."""


class SupervisorStore(RetentionStore, PruningStore, Protocol):
    """What a Supervisor may do; ``term`` proves leadership in every changing statement.

    Once the store's clock was found set, nothing but ``forgive`` changes anything until ``lead`` is asked again.
    """

    def now(self) -> float:
        """The store's clock."""
        ...

    def jumped(self) -> float:
        """By how many seconds in all the store's clock was found set while it was followed."""
        ...

    async def lead(self, instance: str, lease: float) -> int | None:
        """Become or stay leader; the term, or None while another instance leads."""
        ...

    async def due(self) -> Due:
        """What there is to do, in one statement over partial indexes; the store's clock is heard with the answer."""
        ...

    async def forgive(self, term: int, seconds: float) -> bool:
        """After an outage in which no instance renewed: extend live leases and running deadlines by so much, once.

        After a jump of the clock live leases end ``seconds`` from now, whichever way it went, and so do the deadlines
        of tasks that are past their own. A large store gives it to leases and to some tasks; ``Due.grace`` says whether
        some are left.
        """
        ...

    async def go_on_forgiving(self, term: int) -> int:
        """Give the grace to the next tasks that have not had it; how many, 0 once all have it."""
        ...

    async def fence(self, term: int) -> list[Instance]:
        """Declare instances past their lease dead; returns them."""
        ...

    async def free(self, term: int, recovery_limit: int) -> int:
        """Free what dead instances still hold, at most 5,000 tasks: failure_count and recovery_count + 1, pending
        (undoing stays). A task past ``recovery_limit`` gets a ``fail`` inbox row too."""
        ...

    async def expired_steps(self, limit: int) -> list[ExpiredStep]:
        """Watched running steps past their complete-by whose task is processing, waiting or undoing, and owned."""
        ...

    async def decide(self, term: int, decisions: Sequence[Decision]) -> int:
        """Apply decisions, each by compare-and-set on (running, attempt); returns how many applied."""
        ...

    async def expired_tasks(self, limit: int) -> list[ExpiredTask]:
        """Live tasks past their own deadline that have not been told yet."""
        ...

    async def expire_task(self, term: int, task: str, post: Post, audit: Audit, deadline: float | None = None) -> bool:
        """Clear the task's deadline, or count a failure and set the new one, and post what follows; by compare-and-set
        on the deadline that has passed."""
        ...

    async def due_schedules(self, limit: int) -> list[Schedule]:
        """Recurring tasks whose next nominal time has come, the longest due first."""
        ...

    async def fire(self, term: int, schedule: Schedule, tasks: Sequence[Task], next_at: float | None) -> bool:
        """Insert the tasks (an id that exists is left alone) and go on to ``next_at``, by compare-and-set on the
        nominal time that was read; False if somebody else fired, paused or changed it."""
        ...

    async def unserved(self, term: int, after: float) -> int:
        """Raise one alert per (workflow, version) with free due tasks older than ``after`` seconds that no Scheduler
        has served for that long."""
        ...

    async def undelivered_alerts(self, limit: int) -> list[Alert]:
        """Alerts that no sink has taken yet and whose next try is due, oldest first."""
        ...

    async def alert_delivered(self, number: int) -> None:
        """A sink has taken the alert."""
        ...

    async def alert_refused(self, number: int, next_try: float) -> None:
        """Every sink refused; try again at ``next_try``."""
        ...

    async def schedulers(self) -> list[Instance]:
        """The live Schedulers, in the order of their registration."""
        ...

    async def raise_alert(self, term: int, alert: Alert) -> bool:
        """Raise the alert, unless one of its kind waits for an operator already."""
        ...

    async def settle_alert(self, term: int, kind: str) -> bool:
        """Acknowledge the alerts of that kind, as what they tell of is over; whether there were any."""
        ...

    async def standbys(self) -> list[Standby] | None:
        """The standbys of the store's server; None where there is no server, or it does not say how they are."""
        ...

    async def purge(self, term: int, batch: Sequence[Outlived]) -> Purged:
        """Delete those of the tasks that stand as they were read, with all that is theirs; expired messages go too."""
        ...

    async def prune(self, term: int, records: OldRecords) -> int:
        """Delete those of the acts and alerts that still stand as they were read, and audit it; how many rows."""
        ...
