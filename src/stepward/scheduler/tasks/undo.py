"""Undoing a task, and cleaning up abandoned steps before one ends: one undo at a time, from the records alone."""

from __future__ import annotations

from typing import Any

from stepward.model.effects import key_of, undo_input, undo_step
from stepward.model.messages.requests import Outcome, Reply
from stepward.model.pipeline_plan import is_planned
from stepward.model.records import History, InboxKind, Step
from stepward.model.states import CHILD, COMPLETED, NOT_STARTED, RUNNING, UNDO, StepKind, StepState, TaskState
from stepward.scheduler.admission.windows import Windows
from stepward.scheduler.dispatch.dispatcher import StepStarts
from stepward.scheduler.tasks import step_rows as rows
from stepward.scheduler.tasks.active_task import ActiveTask
from stepward.scheduler.tasks.late_effects import late_effect
from stepward.scheduler.tasks.lazy_collections import added
from stepward.scheduler.tasks.phases import Phase
from stepward.scheduler.tasks.transitions import Transitions
from stepward.store.contract import Dispatch, Post
from stepward.workflow.registry import Registry
from stepward.workflow.undo_planner import (
    Barred,
    Finished,
    StartUndo,
    Stuck,
    UndoPlan,
    WaitFor,
    plan_set_aside,
)

OPEN = frozenset({StepState.RUNNING, StepState.TO_REPEAT})
LEFT_AT_ONCE = 512
"""Most steps that one commit of a task which is undone leaves without an undo; it ends with the last of them."""
GONE = "gone"
"""The end of a child whose record retention has deleted."""


class TaskUndo:
    """Asks the planner what comes next, and writes it down."""

    def __init__(
        self,
        registry: Registry,
        windows: Windows,
        ends: Transitions,
        starts: StepStarts,
    ) -> None:
        self._registry = registry
        self._windows = windows
        self._ends = ends
        self._starts = starts

    def is_to_settle(self, history: History, now: float) -> bool:
        """Whether an operator wanted something undone before the task goes on, and it is not undone yet."""
        return not isinstance(plan_set_aside(history.steps, now), Finished)

    def admit(self, active: ActiveTask, history: History, now: float) -> None:
        """Take up a task that is undoing, or that undoes what a repair set aside."""
        active.enter(Phase.SETTLING if active.task.undo_to is None else Phase.UNDOING)
        active.steps = history.steps
        active.open = {(step.run, step.key): step for step in history.steps if step.state in OPEN}
        for undo in [step for step in history.steps if step.kind is UNDO and step.state is COMPLETED]:
            self._is_undone(active, undo, now)
        for step in [step for step in history.steps if step.kind is CHILD]:
            begun = active.ordered().undo_of(step)
            if begun is not None and begun.state is RUNNING:
                self._turn_child(active, step)

    def settle(self, active: ActiveTask, now: float) -> float | None:
        """Start the next undo, or end; returns when to ask again, if that is a matter of time."""
        if active.behind and not active.leaving:
            self._leave_some(active, now)
        if active.behind or active.leaving:
            return None
        step = self._plan(active, now)
        if isinstance(step, StartUndo | Finished) and active.phase is not Phase.SETTLING:
            self._skip(active, now)
        if isinstance(step, Barred):
            self._ends.barred(active, step.step, step.message, now)
        elif isinstance(step, Stuck):
            self._ends.stuck(active, step.step, step.message, now)
        elif isinstance(step, StartUndo):
            self._begin(active, step.step, now)
        elif isinstance(step, Finished):
            self._finish(active, step, now)
        elif isinstance(step, WaitFor):
            return step.until
        return None

    def _finish(self, active: ActiveTask, finished: Finished, now: float) -> None:
        """Go on where undo ends: with the next run or end, with the replay, or with the end as undone."""
        if active.phase is Phase.SETTLING:
            active.enter(Phase.RELOADING)
            return
        if active.phase is Phase.UNDOING:
            at_work = [step for step in active.steps if step.state in OPEN and _is_at_work(active, step)][::-1]
            if at_work:
                self._leave(active, [*(active.behind or ()), *at_work], now)
        if active.behind:
            return
        if active.phase is Phase.CLEANING:
            self._ends.left(active, now)
        else:
            self._ends.undone(active, finished.in_doubt, now)

    def _plan(self, active: ActiveTask, now: float) -> UndoPlan:
        if active.phase is Phase.CLEANING:
            return active.ordered().plan_abandoned(now)
        return plan_set_aside(active.steps, now) if active.phase is Phase.SETTLING else active.ordered().plan(now)

    def _skip(self, active: ActiveTask, now: float) -> None:
        """Once something is undone, what has not started yet never will."""
        if unstarted := active.ordered().unstarted():
            self._leave(active, unstarted[::-1], now)

    def _leave(self, active: ActiveTask, steps: list[Step], now: float) -> None:
        active.behind = steps
        self._leave_some(active, now)

    def _leave_some(self, active: ActiveTask, now: float) -> None:
        """Skip or abandon the next steps that are left without an undo: a task that has ended has no step at work."""
        behind = active.behind or []
        left = 0
        while behind and left < LEFT_AT_ONCE:
            step = behind.pop()
            if step.state is NOT_STARTED or _is_at_work(active, step):
                left += 1
                active.withdraw(step)
                after = StepState.SKIPPED if step.state is NOT_STARTED else StepState.ABANDONED
                active.changed().move_step(rows.move(step, after, now))

    def resolve(self, active: ActiveTask, step: Step, reply: Reply, now: float) -> None:
        """An answer came: to an undo, or to an attempt that was under way when undo began."""
        if step.kind is StepKind.UNDO:
            self._answered(active, step, reply, now)
        elif step.state is not StepState.UNDONE and self._begun_undo_of(active, step) is None:
            self.record(active, step, reply, now)
        elif reply.outcome is Outcome.COMPLETED:
            late_effect(active, step, now)

    def child_ended(self, active: ActiveTask, step: Step, reply: Reply, end: dict[str, Any], now: float) -> None:
        """A child came to its end while its parent is undoing."""
        undo, state = self._begun_undo_of(active, step), end["state"]
        if undo is None:
            if step.finished_at is None:
                self.record(active, step, reply, now)
        elif (undo.run, undo.key) not in active.open:
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
            self._answered(active, undo, done, now)
        elif state == TaskState.PROCESSED or not end.get("undoing", True):
            # Its end and the request to undo it have crossed.
            self._post(active, step, InboxKind.UNDO)
        else:
            why = "its record is no longer kept" if state == GONE else "see its own alert"
            message = f"the child {active.task.id}/{step.key} could not be undone; {why}"
            self._ends.stuck(active, step.key, message, now)

    def _begin(self, active: ActiveTask, step: Step, now: float) -> None:
        if step.kind is StepKind.OPERATION and not self._knows_undo(step):
            message = f"{step.key} needs its undo, and no Agent of this program declares one; deploy it again"
            self._ends.stuck(active, step.key, message, now)
            return
        undo = active.ordered().undo_of(step)
        if undo is None:
            undo = undo_step(step)
            active.steps = added(active.steps, undo)
            active.fresh = active.fresh or set()
            active.fresh.add((undo.run, undo.key))
            active.changed().inserts.append(undo)
        elif (undo.run, undo.key) in active.open:
            return  # It waits for room.
        elif is_planned(undo):
            # Asked for by a repair: by now there may be a result.
            undo.input = undo_input(step)
            active.fresh = active.fresh or set()
            active.fresh.add((undo.run, undo.key))
            active.changed().fill(undo)
        active.open[(undo.run, undo.key)] = undo
        if step.kind is StepKind.CHILD:
            self._begin_child(active, step, undo, now)
        else:
            self._starts.ask(active, undo, now)

    def _begin_child(self, active: ActiveTask, step: Step, undo: Step, now: float) -> None:
        undo.state, undo.attempt, undo.started_at = StepState.RUNNING, 1, now
        if (undo.run, undo.key) not in (active.fresh or ()):
            active.changed().dispatch(Dispatch(undo.task, undo.run, undo.key, 1, now, None))
        self._turn_child(active, step)

    def _turn_child(self, active: ActiveTask, step: Step) -> None:
        """Have a child undone; one that is so already, or cannot be, reports its end again."""
        done = step.state in (StepState.COMPLETED, StepState.FAILED)
        self._post(active, step, InboxKind.UNDO if done else InboxKind.CANCEL)

    def _answered(self, active: ActiveTask, undo: Step, reply: Reply, now: float) -> None:
        active.open.pop((undo.run, undo.key), None)
        active.withdraw(undo)
        self._windows.free(undo)
        finish = active.finish(undo, reply, None, now)
        undo.state, undo.finished_at = finish.state, now
        if finish.state is StepState.COMPLETED:
            self._is_undone(active, undo, now)

    def _is_undone(self, active: ActiveTask, undo: Step, now: float) -> None:
        """Its undo is done, by an Agent or, before the task was read, by an operator's hand."""
        original = active.ordered().undone_by(undo)
        active.open.pop((original.run, original.key), None)
        if original.state is not StepState.UNDONE:
            active.withdraw(original)
            active.changed().move_step(rows.move(original, StepState.UNDONE, now))

    def record(self, active: ActiveTask, step: Step, reply: Reply, now: float) -> None:
        """Record an outcome that is delivered to no workflow code: undo will ask for it, or the replay that fits."""
        active.withdraw(step)
        finish = active.finish(step, reply, None, now)
        active.open.pop((step.run, step.key), None)
        if step.state is not StepState.ABANDONED:
            step.state = finish.state
        step.output, step.error, step.finished_at = reply.output, reply.error, now
        step.in_doubt = finish.in_doubt

    def _begun_undo_of(self, active: ActiveTask, step: Step) -> Step | None:
        undo = active.ordered().undo_of(step)
        return None if undo is None or is_planned(undo) else undo

    def _knows_undo(self, step: Step) -> bool:
        operation = self._registry.operations.get(step.name)
        return operation is not None and operation.has_undo

    def _post(self, active: ActiveTask, step: Step, kind: InboxKind) -> None:
        active.changed().post(Post(task=key_of(step), kind=kind, sender=active.task.id, body=b"{}"))


def _is_at_work(active: ActiveTask, step: Step) -> bool:
    return step.state in OPEN and not (active.fresh and (step.run, step.key) in active.fresh)
