"""The state store as each actor sees it: verbs are transitions, each names the state it leaves and the claim it holds.

Whatever a verb cannot change because somebody was faster it leaves alone and says so. All instants are seconds of
the store's clock (``Store.now``). Verbs raise StoreUnavailable when nothing was changed and CommitUnknown when
nobody can know.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from msgspec import Struct, field

from stepward.model.messages import Reply
from stepward.model.records import (
    Alert,
    Audit,
    History,
    InboxKind,
    InboxRow,
    Instance,
    Step,
    Task,
    WorkflowRecord,
)
from stepward.model.states import StepState, TaskState

# ---------------------------------------------------------------- what a Scheduler's turn changes


class Finish(Struct, frozen=True, gc=False):
    """Leave ``running`` (this very attempt) for ``state`` (completed, failed): an outcome is recorded.

    An ``abandoned`` step keeps its state and records the late result (``ordinal`` is None then).
    """

    task: str
    run: int
    key: str
    attempt: int
    state: StepState
    output: bytes | None
    error: bytes | None
    in_doubt: bool
    ordinal: int | None
    finished_at: float


class Deliver(Struct, frozen=True, gc=False):
    """Give an outcome that is recorded but was not delivered its place in the order (ordinal null -> ordinal)."""

    task: str
    run: int
    key: str
    ordinal: int


class Dispatch(Struct, frozen=True, gc=False):
    """Start attempt ``attempt`` of a step that is ``not_started`` or ``to_repeat`` at ``attempt - 1``."""

    task: str
    run: int
    key: str
    attempt: int
    started_at: float
    complete_by: float | None


class Watch(Struct, frozen=True, gc=False):
    """Have the Supervisor look at a running attempt; ``complete_by`` may be drawn nearer (the Agent gave up)."""

    task: str
    run: int
    key: str
    attempt: int
    complete_by: float
    error: bytes | None
    in_doubt: bool


class StepMove(Struct, frozen=True, gc=False):
    """Leave ``before`` for ``after`` (abandoned, skipped, undone, failed); changes nothing else of the step."""

    task: str
    run: int
    key: str
    before: StepState
    after: StepState
    at: float


class TaskMove(Struct, frozen=True, kw_only=True):
    """The new face of the task row, from ``before``.

    With ``release`` the task is let go (locked_by null); then, as at every end, ``inbox`` must equal the row's, or the
    change misses.
    """

    before: TaskState
    after: TaskState
    inbox: int | None = None
    release: bool = False
    output: bytes | None = None
    error: bytes | None = None
    wake_at: float | None = None
    waits_for: str | None = None
    undo_to: TaskState | None = None
    run: int | None = None
    """Set with ``input`` by continue_as_new."""
    input: bytes | None = None
    at: float
    progress: bool = True
    """An outcome was recorded: recovery_count returns to 0."""


class Post(Struct, frozen=True, kw_only=True):
    """A row for another task's inbox; ends, wakes and counts as ``Inbox`` says in architecture."""

    task: str
    kind: InboxKind
    name: str = ""
    body: bytes = b"null"
    sender: str = ""


class Change(Struct, kw_only=True):
    """All that one task decided in a turn: it commits whole, or the task is reported missed and nothing of it does."""

    task: str
    born: Task | None = None
    """A submission born claimed: ``locked_by`` is the committing instance. Misses if the id or uid exists."""
    inserts: list[Step] = field(default_factory=list)
    finishes: list[Finish] = field(default_factory=list)
    delivers: list[Deliver] = field(default_factory=list)
    dispatches: list[Dispatch] = field(default_factory=list)
    watches: list[Watch] = field(default_factory=list)
    step_moves: list[StepMove] = field(default_factory=list)
    move: TaskMove | None = None
    taken: list[int] = field(default_factory=list)
    """Numbers of inbox rows that are used up; they are deleted."""
    children: list[Task] = field(default_factory=list)
    """New tasks, pending; one that exists already (same uid) is left alone."""
    posts: list[Post] = field(default_factory=list)
    alerts: list[Alert] = field(default_factory=list)
    audits: list[Audit] = field(default_factory=list)


class Committed(Struct, frozen=True):
    """What became of a turn: the uids whose change did not apply, and why."""

    missed: dict[str, str]


class StepTransaction(Protocol):
    """The connection that a transactional step is given; its rows and the step's outcome commit together."""

    async def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run one statement and return its rows."""
        ...


class SchedulerStore(Protocol):
    """What a Scheduler may do."""

    def now(self) -> float:
        """The store's clock."""
        ...

    async def claim(self, instance: str, workflows: Sequence[tuple[str, str]], limit: int) -> list[History]:
        """Take up to ``limit`` free tasks of those (workflow, version): pending, waiting and due, undoing.

        Highest priority first, then oldest. Sets locked_by, started_at, and ``processing`` (``undoing`` stays). Takes
        none and raises InstanceFenced if the instance is dead.
        """
        ...

    async def load(self, instance: str, tasks: Sequence[str]) -> list[History]:
        """The histories of those of the tasks that the instance holds."""
        ...

    async def read_inbox(self, instance: str, after: int) -> list[InboxRow]:
        """Inbox rows numbered above ``after`` of tasks that the instance holds, in order, at most 10,000."""
        ...

    async def next_wake(self) -> float | None:
        """When the next free task becomes due; in the past if one is claimable now."""
        ...

    async def commit(self, instance: str, changes: Sequence[Change], renew: float | None) -> Committed:
        """Apply a turn in one transaction; ``renew`` seconds extend the instance's lease in passing.

        Raises InstanceFenced (nothing changed) unless the instance row is alive, CommitUnknown when the outcome of the
        commit itself is unknown. A change that misses or is refused for its data is left out, the rest stands.
        """
        ...

    async def stray(self, replies: Sequence[Reply]) -> None:
        """Replies for tasks that this instance does not hold.

        A live task that another instance holds gets them as inbox rows (kind reply). Of a task that nobody holds the
        outcome is recorded, not delivered, if that attempt is still running (or abandoned). Else nothing changes but
        one audit row (late_reply), and an alert late_effect_after_undo when a success comes for a step whose undo began.
        """
        ...

    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        """A transaction of its own; leaving it commits, an exception rolls back."""
        ...


class Transaction(StepTransaction, Protocol):
    """An open transaction in which application rows and Stepward's own commit together."""

    async def submit(self, tasks: Sequence[Task]) -> list[Submitted]:
        """As ``ClientStore.submit``, within this transaction."""
        ...

    async def finish(self, instance: str, finish: Finish) -> bool:
        """Record a step's outcome (ordinal None); False, with nothing changed, if the attempt is no longer it."""
        ...


class Submitted(Struct, frozen=True):
    """``created`` is False when a task of that id was there already; ``same`` whether its submission was equal."""

    uid: str
    id: str
    created: bool
    same: bool


# ---------------------------------------------------------------- the Supervisor's part


class Due(Struct, frozen=True, kw_only=True):
    """What a pass has to do; the one statement that an idle pass runs."""

    dead_instances: int
    free_tasks: int
    """Tasks still held by instances already dead."""
    steps: int
    tasks: int
    unserved: int
    alerts: int


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
    """The Supervisor's one decision on a (step, attempt): leave ``running`` for ``state``, count a failure, tell the owner.

    ``to_repeat`` comes with ``repeat_at``; ``failed`` (in doubt) with the inbox row that says what follows.
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


class ExpiredTask(Struct, frozen=True, kw_only=True):
    """A live task past its own complete-by."""

    task: str
    task_id: str
    state: TaskState
    complete_by: float
    policy: bytes | None


class SupervisorStore(Protocol):
    """What a Supervisor may do; ``term`` proves leadership in every changing statement."""

    def now(self) -> float:
        """The store's clock."""
        ...

    async def lead(self, instance: str, lease: float) -> int | None:
        """Become or stay leader; the term, or None while another instance leads."""
        ...

    async def due(self) -> Due:
        """What there is to do, in one statement over partial indexes."""
        ...

    async def forgive(self, term: int, grace: float) -> bool:
        """After an outage in which no instance renewed: extend live leases and running deadlines by ``grace``, once."""
        ...

    async def fence(self, term: int) -> list[Instance]:
        """Declare instances past their lease dead; returns them."""
        ...

    async def free(self, term: int, recovery_limit: int) -> int:
        """Free what dead instances still hold, at most 5,000 tasks: failure_count and recovery_count + 1, pending
        (undoing stays). A task past ``recovery_limit`` gets a ``fail`` inbox row too."""
        ...

    async def expired_steps(self, limit: int) -> list[ExpiredStep]:
        """Watched running steps past their complete-by whose task is processing, waiting or undoing under a live owner."""
        ...

    async def decide(self, term: int, decisions: Sequence[Decision]) -> int:
        """Apply decisions, each by compare-and-set on (running, attempt); returns how many applied."""
        ...

    async def expired_tasks(self, limit: int) -> list[ExpiredTask]:
        """Live tasks past their own complete-by that have not been told yet."""
        ...

    async def expire_task(self, term: int, task: str, post: Post, audit: Audit) -> bool:
        """Clear the task's complete-by and post what follows, by compare-and-set on both."""
        ...

    async def unserved(self, term: int, after: float) -> int:
        """Raise one alert per (workflow, version) with free due tasks older than ``after`` seconds and no live Scheduler
        that serves it."""
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

    async def purge(self, term: int, before: float, limit: int) -> int:
        """Delete tasks that ended (other than in error) before ``before`` with all that is theirs; how many."""
        ...


# ---------------------------------------------------------------- applications and operators


class Directive(Struct, frozen=True, kw_only=True):
    """What an operator or application asks of a task: undo, cancel, suspend, resume, resubmit, mark_done."""

    verb: str
    actor: str
    step: str | None = None
    """resubmit, mark_done: the key of the step; None: the one that the task's error names."""
    input: bytes | None = None
    """resubmit: the edited argument array."""
    result: bytes | None = None
    """mark_done: the result to record."""


class TaskFilter(Struct, frozen=True, kw_only=True):
    """Which tasks ``tasks`` lists, newest first."""

    state: TaskState | None = None
    workflow: str | None = None
    label: tuple[str, str] | None = None
    limit: int = 100
    before: str | None = None
    """A uid: only older ones (paging)."""


class ClientStore(Protocol):
    """What applications and operators may do."""

    def now(self) -> float:
        """The store's clock."""
        ...

    async def submit(self, tasks: Sequence[Task]) -> list[Submitted]:
        """Insert tasks in one transaction; an id that exists is left alone and reported."""
        ...

    async def task(self, id: str) -> Task | None:
        """The task of that id."""
        ...

    async def tasks(self, filter: TaskFilter) -> list[Task]:
        """Tasks, newest first, without their payloads."""
        ...

    async def steps(self, id: str) -> list[Step]:
        """All steps of a task in order of run and number."""
        ...

    async def ended(self, uids: Sequence[str]) -> list[Task]:
        """Those of the tasks that have ended."""
        ...

    async def direct(self, id: str, directive: Directive) -> TaskState:
        """Carry out a directive on a free task, or put it into the inbox of its owner; the state after.

        Raises TaskNotFound, or IllegalTransition when the task's state does not allow it.
        """
        ...

    async def signal(self, id: str, name: str, payload: bytes, signal_id: str | None) -> bool:
        """Put a signal into the task's inbox; False if one with that signal id was put before."""
        ...

    async def workflow(self, name: str) -> list[WorkflowRecord]:
        """The registered versions of a workflow, newest registration first."""
        ...

    async def workflows(self) -> list[WorkflowRecord]:
        """All registered workflows."""
        ...

    async def instances(self) -> list[Instance]:
        """Instances alive, and those dead for less than an hour."""
        ...

    async def alerts(self, limit: int, open_only: bool) -> list[Alert]:
        """Alerts, newest first."""
        ...

    async def acknowledge(self, number: int, actor: str) -> bool:
        """Mark an alert as seen by ``actor``."""
        ...

    async def audits(self, id: str | None, limit: int) -> list[Audit]:
        """The audit of a task, or of all, newest first."""
        ...

    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        """See ``SchedulerStore.transaction``."""
        ...


# ---------------------------------------------------------------- hosts and queues


class HostStore(Protocol):
    """What the host of actors needs."""

    def now(self) -> float:
        """The store's clock."""
        ...

    async def register(self, instance: Instance, lease: float) -> None:
        """A new instance, alive until now + lease."""
        ...

    async def register_workflows(self, workflows: Sequence[WorkflowRecord]) -> None:
        """Record what this program knows of its workflows."""
        ...

    async def renew(self, instance: str, lease: float) -> bool:
        """Extend the lease; False if the instance was declared dead."""
        ...

    async def retire(self, instance: str) -> None:
        """Declare oneself dead in good order; the tasks it still holds become free at once, none counted as failed."""
        ...

    def changed(self) -> bool:
        """Whether another connection has changed the store since the last call; no statement is counted for it."""
        ...


class StoredMessage(Struct, frozen=True):
    """A message taken from a queue in the store; ``token`` settles it."""

    token: int
    body: bytes


class MessageStore(Protocol):
    """Queues in the store, for Agents in other processes without a broker."""

    def now(self) -> float:
        """The store's clock."""
        ...

    async def put(self, queue: str, bodies: Sequence[tuple[bytes, float | None]]) -> None:
        """Append messages, each with the instant at which it expires."""
        ...

    async def take(self, queue: str, limit: int, lease: float) -> list[StoredMessage]:
        """Take up to ``limit`` messages that are neither expired nor taken; they return after ``lease`` seconds."""
        ...

    async def settle(self, queue: str, tokens: Sequence[int]) -> None:
        """Delete messages that were dealt with."""
        ...

    async def extend(self, queue: str, tokens: Sequence[int], lease: float) -> None:
        """Keep messages taken for another ``lease`` seconds."""
        ...

    async def adopt(self, queue: str, heir: str) -> int:
        """Move what stands in a dead instance's queue to ``heir``; how many."""
        ...


class Store(SchedulerStore, SupervisorStore, ClientStore, HostStore, Protocol):
    """A whole state store; each actor is given it as the part it may use."""

    @property
    def messages(self) -> MessageStore:
        """The queues in this store."""
        ...

    async def open(self) -> None:
        """Connect, migrate a new or older store; raises StoreUnavailable or StoreUnusable."""
        ...

    async def close(self) -> None:
        """Let go of the connection."""
        ...
