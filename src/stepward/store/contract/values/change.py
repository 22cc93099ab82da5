"""What a Scheduler's turn changes, as data: the store flattens it into one transaction.

Each change names the state it leaves and the claim it holds; a late writer changes nothing and is told so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TypeVar

from msgspec import Struct, field

from stepward.model.plan import NO_PLANS, Plan, Plans
from stepward.model.records import Alert, Audit, InboxKind, Step, Task
from stepward.model.states import StepState, TaskState

T = TypeVar("T")
StepKey = tuple[int, str]
"""Run and key: what names a step within its task."""


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
    asked: int | None = None
    """How many commands the run had asked for just before the delivery; None where there is none."""


class Deliver(Struct, frozen=True, gc=False):
    """Give an outcome that is recorded but was not delivered its place in the order (ordinal null -> ordinal)."""

    task: str
    run: int
    key: str
    ordinal: int
    asked: int


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
    deferred_at: float | None = None
    """Since when the Agent has done its part, if it has; it stays."""


class StepMove(Struct, frozen=True, gc=False):
    """Leave ``before`` for ``after`` (abandoned, skipped, undone, failed); changes nothing else of the step."""

    task: str
    run: int
    key: str
    before: StepState
    after: StepState
    at: float


class TaskMove(Struct, frozen=True, kw_only=True, gc=False):
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
    complete_by: float | None = None
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


class Telling(Struct, gc=False):
    """Status events for the task's private response queue, which stand there when the change is committed."""

    queue: str
    told: int
    """How many events were told before; the change misses if it is not the row's count."""
    bodies: list[bytes] = field(default_factory=list)


class BySteps(Collection[T]):
    """Rows of a change in their order, each found and taken back by its step, however many there are."""

    __slots__ = ("_rows",)

    def __init__(self, rows: Iterator[tuple[StepKey, T]]) -> None:
        self._rows = dict(rows)

    def __iter__(self) -> Iterator[T]:
        return iter(self._rows.values())

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, row: object) -> bool:
        return row in self._rows.values()

    def put(self, step: StepKey, row: T) -> None:
        """Add the row of a step, in place of one that is there."""
        self._rows[step] = row

    def get(self, step: StepKey) -> T | None:
        """The row of a step, if there is one."""
        return self._rows.get(step)

    def pop(self, step: StepKey) -> T | None:
        """Take a row back, if there is one."""
        return self._rows.pop(step, None)


TRIM_ROWS = 1_000
"""Rows of former runs that one change deletes at most, and as many ids of their signals."""


class Trim(Struct, frozen=True, gc=False):
    """Delete steps of runs ``first`` to ``last``, and ids of the signals that came in runs up to ``last``."""

    first: int
    last: int
    keeps_effects: bool
    """Steps stay that may have acted and that undo has to reach, or must not go past."""


OVERTAKEN = "the task is not as read: something came into its inbox since"
"""Why a change misses whose end or release was quick, and what came in quicker: read anew, it takes that as well."""


class Change(Struct, kw_only=True):
    """All that one task decided in a turn: it commits whole, or the task is reported missed and nothing of it does.

    Steps are inserted and filled first, then moved, then finished: one given up and answered in the same turn is
    abandoned with its late result.
    """

    task: str
    born: Task | None = None
    """A submission born claimed: ``locked_by`` is the committing instance. Misses if the id or uid exists."""
    inserts: list[Step] = field(default_factory=list)
    fills: Sequence[Step] = ()
    """Planned steps that the workflow asked for, whole; misses where the row is not planned any more."""
    finishes: list[Finish] = field(default_factory=list)
    delivers: Sequence[Deliver] = ()
    dispatches: Collection[Dispatch] = ()
    watches: Collection[Watch] = ()
    step_moves: Sequence[StepMove] = ()
    move: TaskMove | None = None
    taken: Sequence[int] = ()
    """Numbers of inbox rows that are used up; they are deleted."""
    children: Collection[Task] = ()
    """New tasks, pending; one that exists already (same uid) is left alone."""
    plans: Plans = NO_PLANS
    """The plans with which ``born`` and ``children`` are recorded."""
    posts: Sequence[Post] = ()
    alerts: Sequence[Alert] = ()
    audits: Sequence[Audit] = ()
    telling: Telling | None = None
    trim: Trim | None = None
    """A bounded piece of what is deleted of former runs; it never misses."""
    complete_by: float | None = None
    """The task row's new complete-by, where it has no ``move`` to carry it."""
    fits: bytes | None = None
    """The details of the alert of a place where this task no longer waits for code that fits its record: the alert is
    acknowledged when no other task waits there."""

    @property
    def begun(self) -> Collection[Task]:
        """The tasks that come into being."""
        return self.children if self.born is None else (self.born, *self.children)

    def stages_of(self, task: Task) -> int:
        """How many planned steps a task that comes into being is recorded with."""
        return len(self.plans.get((task.workflow, task.version), ()))

    # What most turns have none of is no list until it is needed: this is made for every task of every turn.

    def fill(self, step: Step) -> None:
        """Adds a planned step that is now asked for."""
        self.fills = _longer(self.fills, step)

    def plan(self, workflow: str, version: str, plan: Plan) -> None:
        """Record tasks of that workflow that come into being with a planned step for each stage."""
        if (workflow, version) not in self.plans:
            self.plans = {**self.plans, (workflow, version): plan}

    def deliver(self, deliver: Deliver) -> None:
        """Adds an outcome that the workflow was given."""
        self.delivers = _longer(self.delivers, deliver)

    def dispatch(self, dispatch: Dispatch) -> None:
        """Adds a dispatch of a step; the last of one turn counts."""
        self.dispatches = dispatches = _by_steps(self.dispatches)
        dispatches.put((dispatch.run, dispatch.key), dispatch)

    def watch(self, watch: Watch) -> None:
        """Adds a watch of a step; an attempt is shown once in a turn, however often there was a reason to."""
        self.watches = watches = _by_steps(self.watches)
        step = watch.run, watch.key
        same = watches.get(step)
        if same is not None and same.attempt == watch.attempt:
            watch = Watch(
                watch.task,
                watch.run,
                watch.key,
                watch.attempt,
                complete_by=min(same.complete_by, watch.complete_by),
                error=watch.error or same.error,
                in_doubt=same.in_doubt or watch.in_doubt,
                deferred_at=watch.deferred_at or same.deferred_at,
            )
        watches.put(step, watch)

    def withdraw(self, step: StepKey) -> bool:
        """Take back what begins an attempt of a step or has one watched; whether an attempt was to begin."""
        if self.watches:
            self.watches = watches = _by_steps(self.watches)
            watches.pop(step)
        if not self.dispatches:
            return False
        self.dispatches = dispatches = _by_steps(self.dispatches)
        return dispatches.pop(step) is not None

    def move_step(self, move: StepMove) -> None:
        """Adds a change of a step's state."""
        self.step_moves = _longer(self.step_moves, move)

    def take(self, number: int) -> None:
        """Use up an inbox row."""
        self.taken = _longer(self.taken, number)

    def begin_child(self, child: Task) -> None:
        """Adds a child task that begins with this commit."""
        children = self.children
        if not isinstance(children, BySteps):
            self.children = children = BySteps((_place(each), each) for each in children)
        children.put(_place(child), child)

    def withdraw_child(self, step: StepKey) -> None:
        """Begin the child of that step not at all."""
        if isinstance(self.children, BySteps):
            self.children.pop(step)

    def post(self, post: Post) -> None:
        """Adds a message for the inbox of another task."""
        self.posts = _longer(self.posts, post)

    def alert(self, alert: Alert) -> None:
        """Adds an alert."""
        self.alerts = _longer(self.alerts, alert)

    def audit(self, audit: Audit) -> None:
        """Adds an act of the audit."""
        self.audits = _longer(self.audits, audit)


class Committed(Struct, frozen=True):
    """What became of a turn: the uids whose change did not apply, and why."""

    missed: dict[str, str]


def _longer(rows: Sequence[T], row: T) -> Sequence[T]:
    """Append in place where that is possible: a turn may add ten thousand."""
    if isinstance(rows, list):
        rows.append(row)
        return rows
    return [*rows, row]


OfStep = TypeVar("OfStep", Dispatch, Watch)


def _by_steps(rows: Collection[OfStep]) -> BySteps[OfStep]:
    return rows if isinstance(rows, BySteps) else BySteps(((row.run, row.key), row) for row in rows)


def _place(child: Task) -> StepKey:
    return child.parent_run or 0, child.parent_step or ""
