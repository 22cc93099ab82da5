"""The changes of a Scheduler's turn, as data: the store applies them in one transaction.

Each change names the state it leaves and the claim it holds; a change of a late writer does not apply, and the writer
is notified.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TypeVar

from msgspec import Struct, field

from stepward.model.live_values import WriteKind, WrittenValue
from stepward.model.messages.requests import MessageRow
from stepward.model.pipeline_plan import NO_PLANS, Plan, Plans
from stepward.model.records import Alert, Audit, Step, Task
from stepward.model.tasks.updates import UpdateAnswer
from stepward.store.contract.values.change_rows import (
    AddedEvents,
    Deliver,
    Dispatch,
    Finish,
    Post,
    StepKey,
    StepMove,
    TaskMove,
    Trim,
    Watch,
)
from stepward.store.contract.values.updates import AnswerRow, UpdateState
from stepward.store.contract.values.written_rows import WrittenRow, written_rows

T = TypeVar("T")


class BySteps(Collection[T]):
    """Rows of a change in their order, each found and removed by its step in constant time."""

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
        """Adds or replaces the row of a step."""
        self._rows[step] = row

    def get(self, step: StepKey) -> T | None:
        """The row of a step; None if there is none."""
        return self._rows.get(step)

    def pop(self, step: StepKey) -> T | None:
        """Removes and returns the row of a step; None if there is none."""
        return self._rows.pop(step, None)


OVERTAKEN = "the task is not as read: something came into its inbox since"
"""The reason why a change of an end or a release does not apply when an inbox row came first: the task is read again
with the row."""


class Change(Struct, kw_only=True):
    """All decisions of one task in a turn: they commit together, or the task is reported as missed and none of them
    does.

    Steps are inserted and filled first, then moved, then finished: a step that is abandoned and answered in the same
    turn becomes abandoned with its late result.
    """

    task: str
    born: Task | None = None
    """A submission that is claimed at its insertion: ``locked_by`` is the committing instance. Misses if the id or
    uid exists."""
    inserts: list[Step] = field(default_factory=list)
    fills: Sequence[Step] = ()
    """Planned steps that the workflow has reached, with all columns; misses where the row is no longer planned."""
    finishes: list[Finish] = field(default_factory=list)
    delivers: Sequence[Deliver] = ()
    dispatches: Collection[Dispatch] = ()
    watches: Collection[Watch] = ()
    step_moves: Sequence[StepMove] = ()
    move: TaskMove | None = None
    taken: Sequence[int] = ()
    """Numbers of inbox rows that were processed; they are deleted."""
    children: Collection[Task] = ()
    """New tasks, pending; one that exists (same uid) is left as it is."""
    plans: Plans = NO_PLANS
    """The plans with which ``born`` and ``children`` are recorded."""
    posts: Sequence[Post] = ()
    alerts: Sequence[Alert] = ()
    audits: Sequence[Audit] = ()
    status_events: AddedEvents | None = None
    trim: Trim | None = None
    """A bounded number of rows of former runs to delete; it never misses."""
    complete_by: float | None = None
    """The task row's new complete-by, if there is no ``move`` with one."""
    attributes: bytes | None = None
    """The task's search attributes, if workflow code has set some."""
    published: Sequence[WrittenRow] = ()
    """Values that replace those of their names."""
    appended: Sequence[WrittenRow] = ()
    """Values for streams, in order."""
    requests: Sequence[MessageRow] = ()
    """The requests of the steps that start, where the queues are in the same store."""
    answers: Sequence[AnswerRow] = ()
    """Answers to updates; of two to one update the first counts, and a second changes nothing."""
    fits: bytes | None = None
    """The details of the alert of a place where this task no longer waits for code that matches its record: the
    alert is acknowledged when no other task waits there."""

    @property
    def begun(self) -> Collection[Task]:
        """The tasks that are inserted."""
        return self.children if self.born is None else (self.born, *self.children)

    def stages_of(self, task: Task) -> int:
        """The number of planned steps that an inserted task has."""
        return len(self.plans.get((task.workflow, task.version), ()))

    # What most turns have none of is no list until it is needed: this is made for every task of every turn.

    def fill(self, step: Step) -> None:
        """Adds a planned step that the workflow has reached."""
        self.fills = _longer(self.fills, step)

    def plan(self, workflow: str, version: str, plan: Plan) -> None:
        """Records inserted tasks of that workflow with a planned step for each stage."""
        if (workflow, version) not in self.plans:
            self.plans = {**self.plans, (workflow, version): plan}

    def deliver(self, deliver: Deliver) -> None:
        """Adds an outcome that was delivered to the workflow."""
        self.delivers = _longer(self.delivers, deliver)

    def dispatch(self, dispatch: Dispatch) -> None:
        """Adds a dispatch of a step; the last one of a turn counts."""
        self.dispatches = dispatches = _by_steps(self.dispatches)
        dispatches.put((dispatch.run, dispatch.key), dispatch)

    def watch(self, watch: Watch) -> None:
        """Adds a watch of a step; an attempt is watched once in a turn, whatever the number of reasons."""
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
        """Removes the dispatch and the watch of a step; returns whether there was a dispatch."""
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
        """Marks an inbox row as processed."""
        self.taken = _longer(self.taken, number)

    def begin_child(self, child: Task) -> None:
        """Adds a child task that begins with this commit."""
        children = self.children
        if not isinstance(children, BySteps):
            self.children = children = BySteps((_place(each), each) for each in children)
        children.put(_place(child), child)

    def withdraw_child(self, step: StepKey) -> None:
        """Removes the child of that step from the change."""
        if isinstance(self.children, BySteps):
            self.children.pop(step)

    def post(self, post: Post) -> None:
        """Adds a message for the inbox of another task."""
        self.posts = _longer(self.posts, post)

    def answer(self, answers: Sequence[UpdateAnswer], now: float) -> None:
        """Adds answers to updates."""
        for answer in answers:
            state = UpdateState.ACCEPTED if answer.is_accepted else UpdateState.REJECTED
            self.answers = _longer(self.answers, AnswerRow(self.task, answer.id, state, answer.body, now))
            if answer.taken is not None:
                self.take(answer.taken)

    def write(self, value: WrittenValue, now: float) -> None:
        """Adds a value that workflow code wrote."""
        row = WrittenRow(self.task, value.name, value.value, now)
        if value.kind is WriteKind.PUBLISH:
            self.published = _longer(self.published, row)
        else:
            self.appended = _longer(self.appended, row)

    def write_all(self, written: bytes, now: float) -> None:
        """Adds the values that a step wrote."""
        published, appended = written_rows(self.task, written, now)
        self.published, self.appended = [*self.published, *published], [*self.appended, *appended]

    def alert(self, alert: Alert) -> None:
        """Adds an alert."""
        self.alerts = _longer(self.alerts, alert)

    def audit(self, audit: Audit) -> None:
        """Adds an act of the audit."""
        self.audits = _longer(self.audits, audit)


class Committed(Struct, frozen=True):
    """The result of a turn: the uids whose change did not apply, each with the reason."""

    missed: dict[str, str]


def _longer(rows: Sequence[T], row: T) -> Sequence[T]:
    """Appends in place where possible: a turn may add ten thousand rows."""
    if isinstance(rows, list):
        rows.append(row)
        return rows
    return [*rows, row]


OfStep = TypeVar("OfStep", Dispatch, Watch)


def _by_steps(rows: Collection[OfStep]) -> BySteps[OfStep]:
    return rows if isinstance(rows, BySteps) else BySteps(((row.run, row.key), row) for row in rows)


def _place(child: Task) -> StepKey:
    return child.parent_run or 0, child.parent_step or ""
