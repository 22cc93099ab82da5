"""What a Scheduler's turn changes, as data: the store flattens it into one transaction.

Each change names the state it leaves and the claim it holds; a late writer changes nothing and is told so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TypeVar

from msgspec import Struct, field

from stepward.model.plan import NO_PLANS, Plan, Plans
from stepward.model.records import Alert, Audit, Step, Task
from stepward.store.contract.values.change_rows import (
    Deliver,
    Dispatch,
    Finish,
    Post,
    StepKey,
    StepMove,
    TaskMove,
    Telling,
    Trim,
    Watch,
)

T = TypeVar("T")


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
    attributes: bytes | None = None
    """The task's search attributes, where workflow code has set some."""
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
