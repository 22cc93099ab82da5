"""Undoing a task, and cleaning up abandoned steps before one ends: one undo at a time, from the records alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stepward.model.effects import key_of, undo_input, undo_step
from stepward.model.messages.requests import Outcome, Reply
from stepward.model.plan import is_planned
from stepward.model.records import History, InboxKind, Step
from stepward.model.states import StepKind, StepState, TaskState
from stepward.scheduler.admission.windows import Desk
from stepward.scheduler.tasks import step_rows as rows
from stepward.scheduler.tasks.active_task import Resident
from stepward.scheduler.tasks.transitions import Ends
from stepward.store.contract import Dispatch, Post
from stepward.workflow.registry import Registry
from stepward.workflow.undo import (
    Barred,
    Finished,
    Plan,
    StartUndo,
    Stuck,
    WaitFor,
    plan_set_aside,
)

OPEN = frozenset({StepState.RUNNING, StepState.TO_REPEAT})
GONE = "gone"
"""The end of a child whose record retention has deleted."""


class Unwinding:
    """Asks the planner what comes next, and writes it down."""

    def __init__(
        self,
        registry: Registry,
        desk: Desk,
        ends: Ends,
        ask: Callable[[Resident, Step, float], None],
    ) -> None:
        self._registry = registry
        self._desk = desk
        self._ends = ends
        self._ask = ask

    def is_to_settle(self, history: History, now: float) -> bool:
        """Whether an operator wanted something undone before the task goes on, and it is not undone yet."""
        return not isinstance(plan_set_aside(history.steps, now), Finished)

    def admit(self, resident: Resident, history: History, now: float) -> None:
        """Take up a task that is undoing, or that undoes what a repair set aside."""
        resident.steps = history.steps
        for step in history.steps:
            if step.state in OPEN:
                resident.open[(step.run, step.key)] = step
            elif step.kind is StepKind.UNDO and step.state is StepState.COMPLETED:
                self._is_undone(resident, step, now)
        for step in history.steps:
            undo = resident.ordered().undo_of(step) if step.kind is StepKind.CHILD else None
            if undo is not None and undo.state is StepState.RUNNING:
                self._turn_child(resident, step)

    def settle(self, resident: Resident, now: float) -> float | None:
        """Start the next undo, or end; returns when to ask again, if that is a matter of time."""
        if resident.leaving:
            return None
        step = self._plan(resident, now)
        if isinstance(step, StartUndo | Finished) and not resident.is_settling:
            self._skip(resident, now)
        if isinstance(step, Barred):
            self._ends.barred(resident, step.step, step.message, now)
        elif isinstance(step, Stuck):
            self._ends.stuck(resident, step.step, step.message, now)
        elif isinstance(step, StartUndo):
            self._begin(resident, step.step, now)
        elif isinstance(step, Finished) and resident.cleaning:
            self._ends.left(resident, now)
        elif isinstance(step, Finished) and resident.is_settling:
            resident.leaving = resident.reload = True
        elif isinstance(step, Finished):
            self._leave_behind(resident, now)
            self._ends.undone(resident, step.in_doubt, now)
        elif isinstance(step, WaitFor):
            return step.until
        return None

    def _plan(self, resident: Resident, now: float) -> Plan:
        if resident.cleaning:
            return resident.ordered().plan_abandoned(now)
        return plan_set_aside(resident.steps, now) if resident.is_settling else resident.ordered().plan(now)

    def _skip(self, resident: Resident, now: float) -> None:
        """Once something is undone, what has not started yet never will."""
        for step in resident.ordered().unstarted():
            resident.changed().move_step(rows.move(step, StepState.SKIPPED, now))

    def _leave_behind(self, resident: Resident, now: float) -> None:
        """What nobody can undo, and nobody waits for any more, is not at work in a task that has ended."""
        for step in resident.steps:
            if step.state in OPEN and (step.run, step.key) not in resident.fresh:
                resident.withdraw(step)
                after = StepState.SKIPPED if step.state is StepState.NOT_STARTED else StepState.ABANDONED
                resident.changed().move_step(rows.move(step, after, now))

    def resolve(self, resident: Resident, step: Step, reply: Reply, now: float) -> None:
        """An answer came: to an undo, or to an attempt that was under way when undo began."""
        if step.kind is StepKind.UNDO:
            self._answered(resident, step, reply, now)
        elif step.state is not StepState.UNDONE and self._begun_undo_of(resident, step) is None:
            self.record(resident, step, reply, now)
        elif reply.outcome is Outcome.COMPLETED:
            self._late(resident, step, now)

    def child_ended(self, resident: Resident, step: Step, reply: Reply, end: dict[str, Any], now: float) -> None:
        """A child came to its end while its parent is undoing."""
        undo, state = self._begun_undo_of(resident, step), end["state"]
        if undo is None:
            if step.finished_at is None:
                self.record(resident, step, reply, now)
        elif (undo.run, undo.key) not in resident.open:
            return
        elif state in (TaskState.UNDONE, TaskState.CANCELLED):
            done = Reply(
                task=undo.task,
                run=undo.run,
                key=undo.key,
                attempt=undo.attempt,
                outcome=Outcome.COMPLETED,
                output=b"null",
            )
            self._answered(resident, undo, done, now)
        elif state == TaskState.PROCESSED or not end.get("undoing", True):
            # Its end and the word to undo it have crossed.
            self._post(resident, step, InboxKind.UNDO)
        else:
            why = "its record is no longer kept" if state == GONE else "see its own alert"
            message = f"the child {resident.task.id}/{step.key} could not be undone; {why}"
            self._ends.stuck(resident, step.key, message, now)

    def _begin(self, resident: Resident, step: Step, now: float) -> None:
        if step.kind is StepKind.OPERATION and not self._knows_undo(step):
            message = f"{step.key} needs its undo, and no Agent of this program declares one; deploy it again"
            self._ends.stuck(resident, step.key, message, now)
            return
        undo = resident.ordered().undo_of(step)
        if undo is None:
            undo = undo_step(step)
            resident.steps.append(undo)
            resident.fresh.add((undo.run, undo.key))
            resident.changed().inserts.append(undo)
        elif (undo.run, undo.key) in resident.open:
            return  # It waits for room.
        elif is_planned(undo):
            # Asked for by a repair: by now there may be a result.
            undo.input = undo_input(step)
            resident.fresh.add((undo.run, undo.key))
            resident.changed().fill(undo)
        resident.open[(undo.run, undo.key)] = undo
        if step.kind is StepKind.CHILD:
            self._begin_child(resident, step, undo, now)
        else:
            self._ask(resident, undo, now)

    def _begin_child(self, resident: Resident, step: Step, undo: Step, now: float) -> None:
        undo.state, undo.attempt, undo.started_at = StepState.RUNNING, 1, now
        if (undo.run, undo.key) not in resident.fresh:
            resident.changed().dispatch(Dispatch(undo.task, undo.run, undo.key, 1, now, None))
        self._turn_child(resident, step)

    def _turn_child(self, resident: Resident, step: Step) -> None:
        """Have a child undone; one that is so already, or cannot be, tells its end again."""
        done = step.state in (StepState.COMPLETED, StepState.FAILED)
        self._post(resident, step, InboxKind.UNDO if done else InboxKind.CANCEL)

    def _answered(self, resident: Resident, undo: Step, reply: Reply, now: float) -> None:
        resident.open.pop((undo.run, undo.key), None)
        resident.withdraw(undo)
        self._desk.free(undo)
        finish = rows.finish(undo, reply, None, now)
        resident.changed().finishes.append(finish)
        undo.state, undo.finished_at = finish.state, now
        if finish.state is StepState.COMPLETED:
            self._is_undone(resident, undo, now)

    def _is_undone(self, resident: Resident, undo: Step, now: float) -> None:
        """Its undo is done, by an Agent or, before the task was read, by an operator's hand."""
        original = resident.ordered().undone_by(undo)
        resident.open.pop((original.run, original.key), None)
        if original.state is not StepState.UNDONE:
            resident.withdraw(original)
            resident.changed().move_step(rows.move(original, StepState.UNDONE, now))

    def record(self, resident: Resident, step: Step, reply: Reply, now: float) -> None:
        """Record an outcome that is delivered to no workflow code: undo will ask for it, or the replay that fits."""
        resident.withdraw(step)
        finish = rows.finish(step, reply, None, now)
        resident.changed().finishes.append(finish)
        resident.open.pop((step.run, step.key), None)
        if step.state is not StepState.ABANDONED:
            step.state = finish.state
        step.output, step.error, step.finished_at = reply.output, reply.error, now
        step.in_doubt = finish.in_doubt

    def denied(self, resident: Resident, reply: Reply, now: float) -> None:
        """Alert of a success of an attempt of which a repair was told that it did not happen."""
        message = (
            f"{resident.task.id}: attempt {reply.attempt} of {reply.key} succeeded, though a repair recorded that it "
            "did not happen; check its effect by hand"
        )
        resident.changed().alert(rows.alert(resident.task, "late_effect", message, now, step=reply.key))

    def _late(self, resident: Resident, step: Step, now: float) -> None:
        message = f"{resident.task.id}: {step.key} succeeded after its undo had begun; check its effect by hand"
        resident.changed().alert(rows.alert(resident.task, "late_effect_after_undo", message, now, step=step.key))

    def _begun_undo_of(self, resident: Resident, step: Step) -> Step | None:
        undo = resident.ordered().undo_of(step)
        return None if undo is None or is_planned(undo) else undo

    def _knows_undo(self, step: Step) -> bool:
        operation = self._registry.operations.get(step.name)
        return operation is not None and operation.has_undo

    def _post(self, resident: Resident, step: Step, kind: InboxKind) -> None:
        resident.changed().post(Post(task=key_of(step), kind=kind, sender=resident.task.id, body=b"{}"))
