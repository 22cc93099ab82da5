"""A task in a Scheduler's memory: its open steps, its execution, and what this turn changes of it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from stepward.model.effects import is_deferred
from stepward.model.messages.event_queues import queues_for
from stepward.model.messages.requests import Reply
from stepward.model.messages.status_events import StatusEventType, status_event
from stepward.model.records import Step, Task
from stepward.model.states import CHILD, NOT_STARTED, RUNNING, UNDO, WAITING, StepState, TaskState
from stepward.model.tasks.complete_by import of_attempt, of_claim, of_steps
from stepward.scheduler.tasks import step_rows as rows
from stepward.scheduler.tasks.kept_steps import KeptSteps
from stepward.scheduler.tasks.phases import LEAVING, PHASE_MOVES, Phase
from stepward.store.contract import AddedEvents, Change, Finish
from stepward.workflow.decisions import Delivered, StepCall
from stepward.workflow.execution import Execution
from stepward.workflow.undo_planner import UndoOrder

StepId = tuple[int, str]
"""Run and key: what names a step within its task."""


class ActiveTask:
    """What a Scheduler remembers of a task that it holds; ``task`` is its committed face."""

    __slots__ = (
        "abandoned",
        "behind",
        "bytes",
        "change",
        "children",
        "defers",
        "execution",
        "fresh",
        "held_back",
        "inbox",
        "is_bound",
        "kept",
        "leaving",
        "mended",
        "next_input",
        "open",
        "output",
        "overflow",
        "phase",
        "planned",
        "recorded",
        "refused",
        "replies",
        "revoked",
        "seen",
        "sent",
        "set_aside",
        "steps",
        "task",
        "trims",
        "undo_order",
        "waiting_since",
    )

    def __init__(self, task: Task) -> None:
        self.task = task
        self.open: dict[StepId, Step] = {}
        """Steps that have no outcome yet; those of an undoing task also stand in ``steps``."""
        # Every step of a task that is undoing or cleaning up, for the planner; empty going forward.
        self.steps: Sequence[Step] = ()
        self.undo_order: UndoOrder | None = None  # The planner for ``steps``, kept as long as that list.
        self.kept: KeptSteps | None = None  # Finds the steps of the lists here; made with the first late reply.
        # What most tasks never have is made with the first of it: an empty list, dict or set takes 56 to 216 bytes.
        self.abandoned: Sequence[Step] = ()
        """Steps of this run that are no longer awaited and that may have acted."""
        self.set_aside: Sequence[Step] = ()  # Of this run: a repair took them out of what is replayed.
        self.execution: Execution | None = None
        self.change: Change | None = None
        # Steps of this run whose outcome stands in the record and was not delivered yet, by key; with its error.
        self.recorded: OrderedDict[str, tuple[Step, bytes | None]] | None = None
        self.fresh: set[StepId] | None = None
        """Steps inserted or filled by this turn's change: they are folded, not updated."""
        self.planned: set[StepId] | None = None
        """Steps whose rows were recorded with the task's plan and are still to be filled."""
        self.overflow: OrderedDict[str, StepCall] | None = None
        """Calls over the limit of new steps per commit, by key; they have no row yet."""
        self.behind: list[Step] | None = None  # Steps that an undoing task has yet to leave, the next one last.
        self.refused: list[Step] | None = None  # Child steps that stand too deep: they fail before the turn's commit.
        self.inbox = task.inbox
        """The task row's count as far as this memory has seen it."""
        self.seen = 0
        """The highest number of an inbox row that was handed over."""
        # The attempts of open steps that Agents were asked for from this memory; kept when the task is read again.
        self.sent: dict[StepId, int] | None = None
        # Bytes of its history; its open child tasks; how often pieces of former runs may still have to be deleted.
        self.bytes = self.children = self.trims = 0
        self.waiting_since: float | None = None
        self.phase = Phase.LOADING
        self.leaving = False
        """Whether the phase is one of ``LEAVING``; each reply asks for it."""
        self.mended = False  # Its code did not fit its record, and does again.
        self.output: bytes | None = None
        self.next_input: bytes | None = None
        """Set when the workflow asked for another run: what that run begins with."""
        # Whether a step was ever left to be finished from outside; the row's complete-by was compared with the steps.
        self.defers = self.is_bound = False
        self.revoked: list[Step] | None = None  # Abandoned by this turn's change: their requests are to be revoked.
        self.replies: list[Reply] | None = None
        """Replies whose outcomes this turn's change records, to be processed again if it misses."""
        self.held_back: list[Reply] | None = None
        """Replies that came when the task was leaving already: for its next owner."""

    def enter(self, phase: Phase) -> None:
        """Move to another phase; one that no move leads to is a bug."""
        if phase is not self.phase and phase not in PHASE_MOVES[self.phase]:
            raise RuntimeError(f"task {self.task.id}: expected one of PHASE_MOVES, found {self.phase} to {phase}")
        self.phase, self.leaving = phase, phase in LEAVING

    def changed(self) -> Change:
        """This turn's change, begun if there is none yet."""
        if self.change is None:
            self.change = Change(task=self.task.uid)
        return self.change

    def report(self, kind: StatusEventType, now: float, **data: Any) -> None:
        """Tell the queues that get such events of the task; it stands there once the change is committed."""
        task = self.task
        if task.reply_to is None and task.events_to is None:
            return
        if queues := queues_for(task.reply_to, task.events_to, kind):
            change = self.changed()
            added = change.status_events = change.status_events or AddedEvents(task.events)
            sequence = task.events + len(added.bodies) + 1
            added.bodies.append(status_event(task, kind, sequence, now, **data))
            added.queues.append(queues)

    def discard_decisions(self, now: float) -> None:
        """Discard what this turn decided; a submission and its status events stay."""
        before = self.changed()
        born = before.born
        self.change = Change(task=self.task.uid, born=born, plans=before.plans)
        if born is not None:
            self.report_submission(now)

    def report_submission(self, now: float) -> None:
        """Send the status events of a task that is submitted and claimed in one commit."""
        self.report(StatusEventType.RECEIVED, self.task.created_at)
        self.report(StatusEventType.STARTED, now)

    def begin(self, call: StepCall) -> Step:
        """Hold a step that the workflow asked for, not yet started."""
        action, task = call.action, self.task
        step = Step(
            task=task.uid,
            run=task.run,
            key=call.key,
            number=call.number,
            name=action.name,
            kind=action.kind,
            state=NOT_STARTED,
            agent=action.agent,
            complete_seconds=action.complete_seconds,
            input=call.input,
            has_undo=action.undo_fn is not None,
            irreversible=action.irreversible,
        )
        step_id = (task.run, call.key)
        self.open[step_id] = step
        self.fresh = self.fresh or set()
        self.fresh.add(step_id)
        self.bytes += len(call.input)
        return step

    def finish(self, step: Step, reply: Reply, delivered: Delivered | None, now: float) -> Finish:
        """Record a reply that ends its step, with the values that its function wrote."""
        finish, change = rows.finish(step, reply, delivered, now), self.change or self.changed()
        change.finishes.append(finish)
        if reply.written is not None:
            change.write_all(reply.written, now)
        return finish

    def start(self, step: Step, now: float) -> None:
        """Begin the next attempt of a step: its complete-by counts from now."""
        step.state = RUNNING
        step.attempt += 1
        step.started_at = now
        step.watched = False
        step.repeat_at = None
        step.deferred_at = None
        step.complete_by = of_attempt(step, self.task, now)

    def withdraw(self, step: Step) -> None:
        """Take back what this turn's change says of a step that ends in it: a row is written once."""
        change = self.change
        if change is None:
            return
        if change.withdraw((step.run, step.key)):
            step.attempt -= 1
            step.state = StepState.TO_REPEAT if step.attempt else NOT_STARTED

    def watch(self, step_id: StepId, attempt: int) -> bool:
        """Show an attempt that is still unanswered to the Supervisor; False if it was answered, or is shown already."""
        step = self.open.get(step_id)
        if step is None or step.state is not RUNNING or step.attempt != attempt or step.watched:
            return False
        step.watched = True
        self.changed().watch(rows.watch(step, step.complete_by or 0.0))
        return True

    def may_start(self, step: Step) -> bool:
        """Whether the step may begin an attempt: once undo began, nothing goes forward any more."""
        return self.execution is not None or step.kind is UNDO

    def ordered(self) -> UndoOrder:
        """The planner for the steps of a task that is undoing or cleaning up."""
        if self.undo_order is None or not self.undo_order.is_of(self.steps):
            self.undo_order = UndoOrder(self.steps)
        return self.undo_order

    def has_sent(self, step: Step) -> bool:
        """Whether its Agent was asked from this memory: asked again it might do it twice."""
        return self.sent is not None and self.sent.get((step.run, step.key)) == step.attempt

    def held_until(self, now: float) -> float:
        """The complete-by of a task that is worked on: that of its steps, or of a claim while none of them runs."""
        return of_steps(self.open.values()) or of_claim(now)

    def all_wait(self) -> bool:
        """Whether nothing of it runs or is about to: only timers, signals, children and people are left."""
        return not self.overflow and len(self.open) == self.children + (len(self.deferred) if self.defers else 0)

    @property
    def deferred(self) -> Sequence[Step]:
        """The steps that are to be finished from outside."""
        if not self.defers:
            return ()
        return [step for step in self.open.values() if is_deferred(step)]

    @property
    def wakes_at(self) -> float | None:
        """When there is something to do though nothing comes in: a timer, or the end of what others are to finish."""
        instants = [step.complete_by for step in self.deferred]
        if self.execution is not None:
            instants.append(self.execution.next_timer)
        return min((instant for instant in instants if instant is not None), default=None)

    @property
    def only_waits_for_room(self) -> bool:
        """Whether nothing of it is under way here, so that the store knows all of it and it may be released."""
        busy = (
            self.leaving
            or self.phase is Phase.CLEANING
            or self.overflow
            or self.change is not None
            or self.replies
            or self.held_back
        )
        running = (s for s in self.open.values() if s.state is RUNNING and s.kind is not CHILD)
        return not busy and bool(self.open) and next(running, None) is None

    @property
    def went_on(self) -> bool:
        """Whether the workflow was given an outcome in this turn."""
        change = self.change
        if change is None:
            return False
        is_delivered = any(finish.ordinal is not None for finish in change.finishes)
        return bool(change.delivers or _has_outcome(change.inserts) or is_delivered)

    @property
    def made_progress(self) -> bool:
        """Whether this turn records an outcome of the task."""
        change = self.change
        return change is not None and bool(change.finishes or change.delivers or _has_outcome(change.inserts))

    def begins_wait(self, waits_for: str | None, until: float | None) -> bool:
        """Whether a wait begins; one that was let go, or taken over, goes on as it was."""
        task = self.task
        is_another = task.waits_for != waits_for or (task.state is WAITING and task.wake_at != until)
        return is_another or self.went_on

    @property
    def only_children_left(self) -> bool:
        """Whether an undoing task waits for a child to be undone: nothing is under way beside an undo."""
        return any(step.kind is UNDO and step.agent is None for step in self.open.values())

    @property
    def only_others_left(self) -> bool:
        """Whether an undoing task waits for a finish from outside: nothing is under way beside an undo."""
        return any(step.kind is UNDO and is_deferred(step) for step in self.open.values())

    @property
    def is_undoing(self) -> bool:
        """Whether undo began: nothing goes forward any more."""
        return self.task.state is TaskState.UNDOING


def _has_outcome(inserts: list[Step]) -> bool:
    return any(step.state is StepState.COMPLETED for step in inserts)
