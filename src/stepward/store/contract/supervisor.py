"""The Supervisor's part of the store: leadership, what is due, and one decision on each expiry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from stepward.model.records import Alert, Audit, Instance, Task
from stepward.model.schedule import Schedule
from stepward.model.states import StepState, TaskState
from stepward.store.contract.by_subject.alerts import AlertDeliveryStore
from stepward.store.contract.by_subject.archive_erasure import ArchiveErasureStore
from stepward.store.contract.by_subject.batches import BatchWork
from stepward.store.contract.by_subject.large_payload_objects import ObjectOwnerStore
from stepward.store.contract.by_subject.retention import OldRecords, Outlived, PruningStore, Purged, RuledRetentionStore
from stepward.store.contract.by_subject.webhooks import WebhookDeliveryStore
from stepward.store.contract.values.change_rows import Post
from stepward.store.contract.values.server_report import Standby

FREED_AT_ONCE = 1_000
"""Most tasks of dead instances that are released in one transaction."""


class Due(Struct, frozen=True, kw_only=True):
    """The work of a pass; an idle pass runs only this statement."""

    dead_instances: int
    free_tasks: int
    """Tasks that dead instances still hold."""
    steps: int
    tasks: int
    unserved: int
    alerts: int
    schedules: int
    """Schedules whose next nominal time has come."""
    grace: int = 0
    """Whether some tasks have not had the grace after an outage yet: until all have, nothing is judged."""
    batches: int = 0
    """Batches that run."""
    slots: int = 0
    """Slots of dead instances whose calls are over."""


class Firing(Struct, frozen=True):
    """A schedule as it was read, the tasks of its nominal times that are due, and the next nominal time."""

    schedule: Schedule
    tasks: Sequence[Task]
    next_at: float | None


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
    """The one decision on a (step, attempt): leave ``running`` for ``state``, count a failure, notify the owner.

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
    """Whether the attempt may have been executed; a doubt about earlier ones stays."""


class ExpiredTask(Struct, frozen=True, kw_only=True):
    """A live task past its deadline."""

    task: str
    task_id: str
    state: TaskState
    deadline: float
    policy: bytes | None
    failure_count: int = 0
    allowed: float = 0.0
    """Seconds from submission to deadline, by the workflow or by the submission."""


class TaskExpiry(Struct, frozen=True, kw_only=True):
    """What follows for a task past its own deadline: the inbox row, the audit entry, and the new deadline."""

    task: str
    task_id: str
    post: Post
    audit: Audit
    deadline: float | None = None


class SupervisorStore(
    RuledRetentionStore,
    PruningStore,
    AlertDeliveryStore,
    WebhookDeliveryStore,
    BatchWork,
    ObjectOwnerStore,
    ArchiveErasureStore,
    Protocol,
):
    """The verbs of a Supervisor; ``term`` proves leadership in every changing statement.

    Once the store's clock is found to have been set, only ``forgive`` changes anything until ``lead`` is called again.
    """

    def now(self) -> float:
        """The store's clock."""
        ...

    def jumped(self) -> float:
        """The seconds, in all, by which the store's clock was found to have been set since the store was opened."""
        ...

    async def lead(self, instance: str, lease: float) -> int | None:
        """Becomes or stays leader; returns the term, or None while another instance leads."""
        ...

    async def due(self) -> Due:
        """The work that is due, by one statement over partial indexes; its answer also sets the store's clock."""
        ...

    async def forgive(self, term: int, seconds: float) -> bool:
        """After an outage in which no instance renewed: extends live leases and running complete-bys by so many
        seconds, once.

        After a jump of the clock live leases end ``seconds`` from now, in whichever direction it jumped, and so do
        deadlines that have passed. In a large store only leases and some tasks are extended; ``Due.grace`` says whether
        others are left.
        """
        ...

    async def go_on_forgiving(self, term: int) -> int:
        """Gives the grace to the next tasks that have not had it; returns how many, 0 once all have it."""
        ...

    async def fence(self, term: int) -> list[Instance]:
        """Declares instances dead whose lease has run out; returns them."""
        ...

    async def release_slots(self, term: int) -> int:
        """Deletes the slots of dead instances whose calls are over by their complete-by; returns of how many
        instances."""
        ...

    async def free(self, term: int, recovery_limit: int) -> int:
        """Releases at most ``FREED_AT_ONCE`` tasks of dead instances: failure_count and recovery_count + 1, pending
        (undoing stays).

        A task past ``recovery_limit`` gets a ``fail`` inbox row too.
        """
        ...

    async def expired_steps(self, limit: int) -> list[ExpiredStep]:
        """Watched running steps past their complete-by whose task is processing, waiting or undoing, and has an
        owner."""
        ...

    async def decide(self, term: int, decisions: Sequence[Decision]) -> int:
        """Applies decisions, each by compare-and-set on (running, attempt); returns how many applied."""
        ...

    async def expired_tasks(self, limit: int) -> list[ExpiredTask]:
        """Live tasks past their deadline that were not notified yet."""
        ...

    async def expire_tasks(self, term: int, expiries: Sequence[TaskExpiry]) -> list[TaskExpiry]:
        """Clears the deadline of each task, or counts a failure and sets the new one, and posts what follows; by
        compare-and-set on the deadline that has passed, in one transaction. Returns those that applied."""
        ...

    async def due_schedules(self, limit: int) -> list[Schedule]:
        """Schedules whose next nominal time has come, the longest due first."""
        ...

    async def fire(self, term: int, firings: Sequence[Firing]) -> list[int | None]:
        """Inserts the tasks (an id that exists is left alone) and moves each schedule on to ``next_at``, by
        compare-and-set on the nominal time that was read, in one transaction; returns for each how many, fewer where
        its tasks may not overlap, and None if another process fired, paused or changed the schedule."""
        ...

    async def unserved(self, term: int, after: float) -> int:
        """Raises one alert for each (workflow, version) with claimable tasks older than ``after`` seconds that no
        Scheduler has served for that long."""
        ...

    async def schedulers(self) -> list[Instance]:
        """The live Schedulers, in the order of their registration."""
        ...

    async def raise_alert(self, term: int, alert: Alert) -> bool:
        """Raises the alert, unless one of its kind is open."""
        ...

    async def resolve_alert(self, term: int, kind: str) -> bool:
        """Acknowledges the open alerts of that kind, because their cause is gone; returns whether there were any."""
        ...

    async def sample_states(self, term: int, kept_since: float) -> bool:
        """Records how many tasks are in each live state, and in error, and deletes samples from before ``kept_since``
        or from the future; returns whether the term still leads."""
        ...

    async def standbys(self) -> list[Standby] | None:
        """The standbys of the store's server; None where there is no server, or its user may not see them."""
        ...

    async def purge(self, term: int, batch: Sequence[Outlived]) -> Purged:
        """Deletes those of the tasks that are as they were read, with all their rows, and expired messages."""
        ...

    async def prune(self, term: int, records: OldRecords) -> int:
        """Deletes those of the acts and alerts that are as they were read, and audits it; returns the number of
        rows."""
        ...
