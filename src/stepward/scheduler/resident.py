"""A task in a Scheduler's memory: its open steps, its execution, and what this turn changes of it."""

from __future__ import annotations

from collections import deque
from typing import Any

from stepward.model.messages import Reply
from stepward.model.records import Step, Task
from stepward.model.states import StepKind, StepState, TaskState
from stepward.model.status import Told, status_event
from stepward.store.contract import Change, Telling
from stepward.workflow.decisions import StepCall
from stepward.workflow.engine import Execution

StepId = tuple[int, str]
"""Run and key: what names a step within its task."""


class Resident:
    """What a Scheduler remembers of a task that it holds; ``task`` is its committed face."""

    __slots__ = (
        "abandoned",
        "bytes",
        "change",
        "children",
        "cleaning",
        "execution",
        "fresh",
        "inbox",
        "leaving",
        "next_input",
        "open",
        "output",
        "overflow",
        "planned",
        "recorded",
        "reload",
        "replies",
        "revoked",
        "seen",
        "sent",
        "steps",
        "task",
        "unheard",
        "waiting_since",
    )

    def __init__(self, task: Task) -> None:
        self.task = task
        self.open: dict[StepId, Step] = {}
        """Steps that have no outcome yet; those of an undoing task also stand in ``steps``."""
        self.steps: list[Step] = []
        """Every step of a task that is undoing or cleaning up, for the planner; empty going forward."""
        self.abandoned: list[Step] = []
        """Steps of this run that nobody awaits any more and that may have acted."""
        self.execution: Execution | None = None
        self.change: Change | None = None
        self.recorded: dict[str, tuple[Step, bytes | None]] = {}
        """Steps of this run whose outcome stands in the record and was not delivered yet, by key; with its error."""
        self.fresh: set[StepId] = set()
        """Steps inserted or filled by this turn's change: they are folded, not updated."""
        self.planned: set[StepId] | None = None
        """Steps whose rows were recorded with the task's plan and are still to be filled."""
        self.overflow: deque[StepCall] = deque()
        """Calls over the limit of new steps per commit; they have no row yet."""
        self.inbox = task.inbox
        """The task row's count as far as this memory has seen it."""
        self.seen = 0
        """The highest number of an inbox row that was handed over."""
        # The attempts of open steps that Agents were asked for from this memory; kept when the task is read anew.
        self.sent: dict[StepId, int] = {}
        self.bytes = 0
        self.waiting_since: float | None = None
        self.leaving = False
        """The change of this turn ends or releases the task, or begins its undo: after the commit it is forgotten."""
        self.reload = False
        """It is to be read anew after that, because it goes on in another direction."""
        self.cleaning = False
        """The workflow is over; before its run is left, its abandoned steps are undone."""
        self.output: bytes | None = None
        self.next_input: bytes | None = None
        """Set when the workflow asked for another run: what that run begins with."""
        # How many of the open steps are child tasks.
        self.children = 0
        self.revoked: list[Step] = []
        """Steps abandoned by this turn's change, whose Agents are to be told."""
        self.replies: list[Reply] = []
        """What this turn's change answers, to be heard again if the change misses."""
        self.unheard: list[Reply] = []
        """What came when the task was leaving already: for whoever holds it next."""

    def changed(self) -> Change:
        """This turn's change, begun if there is none yet."""
        if self.change is None:
            self.change = Change(task=self.task.uid)
        return self.change

    def tell(self, told: Told, now: float, **data: Any) -> None:
        """Tell the task's private response queue, if it has one; it stands there once the change is committed."""
        task = self.task
        if task.reply_to is None:
            return
        change = self.changed()
        telling = change.telling
        if telling is None:
            telling = change.telling = Telling(task.reply_to, task.events)
        sequence = task.events + len(telling.bodies) + 1
        telling.bodies.append(status_event(task, told, sequence, now, **data))

    def begin_anew(self, now: float) -> None:
        """Forget what this turn decided; a birth, and what is told of it, stays."""
        before = self.changed()
        born = before.born
        self.change = Change(task=self.task.uid, born=born, plans=before.plans)
        if born is not None:
            self.tell_birth(now)

    def tell_birth(self, now: float) -> None:
        """A task born claimed is received and started in one."""
        self.tell(Told.RECEIVED, self.task.created_at)
        self.tell(Told.STARTED, now)

    def withdraw(self, step: Step) -> None:
        """Take back what this turn's change says of a step that ends in it: a row is written once."""
        change = self.change
        if change is None or not (change.watches or change.dispatches):
            return
        change.watches = [watch for watch in change.watches if (watch.run, watch.key) != (step.run, step.key)]
        kept = [start for start in change.dispatches if (start.run, start.key) != (step.run, step.key)]
        if len(kept) < len(change.dispatches):
            change.dispatches = kept
            step.attempt -= 1
            step.state = StepState.TO_REPEAT if step.attempt else StepState.NOT_STARTED

    def has_sent(self, step: Step) -> bool:
        """Whether its Agent was asked from this memory: asked again it might do it twice."""
        return self.sent.get((step.run, step.key)) == step.attempt

    def all_wait(self) -> bool:
        """Whether nothing of it runs or is about to: only timers, signals and children are left."""
        return len(self.open) == self.children and not self.overflow

    @property
    def only_children_left(self) -> bool:
        """Whether an undoing task waits for a child to be undone: nothing is under way beside an undo."""
        return any(step.kind is StepKind.UNDO and step.agent is None for step in self.open.values())

    @property
    def is_undoing(self) -> bool:
        """Whether undo began: nothing goes forward any more."""
        return self.task.state is TaskState.UNDOING
