"""Moving a task forward: what its execution decides becomes this turn's change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import astuple

from stepward.model.effects import former_generations, key_of, needs_undo
from stepward.model.failures import FailureConverter
from stepward.model.messages.requests import OUTCOME_COMPLETED, Reply
from stepward.model.messages.status_events import StatusEventType, ended_with
from stepward.model.records import History, InboxKind, Step, Task
from stepward.model.states import CHILD, NOT_STARTED, StepState
from stepward.model.tasks.attributes import SET_ATTRIBUTES
from stepward.model.tasks.stopped_tasks import is_stopped, place_of
from stepward.scheduler.admission.windows import Windows
from stepward.scheduler.dispatch.dispatcher import StepStarts
from stepward.scheduler.tasks import child_tasks, lazy_collections
from stepward.scheduler.tasks import step_rows as rows
from stepward.scheduler.tasks.active_task import ActiveTask
from stepward.scheduler.tasks.phases import Phase
from stepward.scheduler.tasks.records import task_record
from stepward.scheduler.tasks.step_rows import LARGE_INPUT, NEW_STEPS_PER_COMMIT
from stepward.scheduler.tasks.transitions import Transitions
from stepward.settings import Settings
from stepward.store.contract import Deliver, Post, StepMove
from stepward.workflow.decisions import Broken, Completed, Continued, Decisions, Diverged, Failed, StepCall
from stepward.workflow.definition import Workflow
from stepward.workflow.execution import Execution
from stepward.workflow.registry import Registry


class Advance:
    """Runs workflow code and writes down what it asks for."""

    def __init__(
        self,
        registry: Registry,
        windows: Windows,
        settings: Settings,
        ends: Transitions,
        starts: StepStarts,
        failures: FailureConverter,
    ) -> None:
        self._registry = registry
        self._windows = windows
        self._settings = settings
        self._ends = ends
        self._failures = failures
        self._starts = starts

    def plan(self, active: ActiveTask) -> None:
        """Have a task that is submitted here recorded with the plan of its workflow, if that has one."""
        task = active.task
        workflow = self._registry.workflows.get((task.workflow, task.version))
        if workflow is not None and workflow.plan is not None:
            active.changed().plan(task.workflow, task.version, workflow.plan)
            active.planned = {(task.run, stage.key) for stage in workflow.plan}

    def admit(self, active: ActiveTask, history: History, now: float) -> None:
        """Replay a task's record, and go on from its end."""
        task = active.task
        active.execution = self._execution(active, task_record.taken_up(active, history, now))
        active.enter(Phase.ADVANCING)
        active.execution.start(now)
        if task.error is not None and not isinstance(active.execution.ended, Diverged) and is_stopped(task):
            active.changed().fits = place_of(task)
            task.error, active.mended = None, True
        for row in history.inbox:
            if row.kind is InboxKind.SIGNAL:
                active.execution.signal(row.number, row.name, row.body, now)
        self.settle(active, now)

    def resolve(self, active: ActiveTask, step: Step, reply: Reply, now: float) -> None:
        """Deliver the outcome of an open step to the workflow."""
        execution = active.execution
        if execution is None:
            return
        del active.open[(step.run, step.key)]
        if active.change is not None:
            active.withdraw(step)
        self._windows.free(step)
        active.children -= step.kind is CHILD
        active.bytes += len(reply.output or b"")
        # What is recorded counts, whatever else a reply may say: a replay sees no more than that.
        error = None if reply.outcome is OUTCOME_COMPLETED else reply.error or b"{}"
        execution.resolve(step.key, output=reply.output, error=error, at=now)
        decisions = execution.take()
        delivered = decisions.take_delivery(step.key)
        active.finish(step, reply, delivered, now)
        if active.task.reply_to is not None or active.task.events_to is not None:
            self._note_outcome(active, step, error, now, delivered=delivered is not None)
        self._apply(active, decisions, now)

    def deliver_recorded(self, active: ActiveTask, step: Step, reply: Reply, committed_at: float, now: float) -> None:
        """Deliver an outcome that is recorded already, by the step's own transaction or from outside."""
        execution = active.execution
        if execution is None:
            return
        del active.open[(step.run, step.key)]
        active.withdraw(step)
        self._windows.free(step)
        execution.resolve(step.key, output=reply.output, error=reply.error, at=committed_at)
        self._note_outcome(active, step, reply.error, now, delivered=False)
        self._apply(active, execution.take(), now)

    def signal(self, active: ActiveTask, number: int, name: str, body: bytes, now: float) -> None:
        """Hand a signal to the workflow."""
        if active.execution is not None:
            active.execution.signal(number, name, body, now)
            self.settle(active, now)

    def due(self, active: ActiveTask, now: float) -> None:
        """Fire the workflow's timers that are due."""
        execution = active.execution
        if execution is not None and execution.next_timer is not None and execution.next_timer <= now:
            execution.fire(now)
            self.settle(active, now)

    def settle(self, active: ActiveTask, now: float) -> None:
        """Write down whatever the execution decided since it was last asked."""
        if active.execution is not None:
            self._apply(active, active.execution.take(), now)

    def spill(self, active: ActiveTask, now: float) -> None:
        """Start the next of the steps that one commit could not hold."""
        while active.overflow and not rows.are_full(active.changed().inserts, next(iter(active.overflow.values()))):
            self._begin(active, active.overflow.popitem(last=False)[1], now)

    def refuse(self, active: ActiveTask, now: float) -> None:
        """Fail the children that would stand too deep, and those that the workflow asks for thereupon."""
        while active.refused:
            step = active.refused.pop()
            if active.open.get((step.run, step.key)) is step:
                self.resolve(active, step, child_tasks.too_deep(step, self._settings.child_depth), now)

    def begin_run(self, active: ActiveTask, now: float) -> None:
        """Begin a task's first run, or the next one that ``continue_as_new`` asked for, with the signals left over."""
        active.execution = self._execution(active, [])
        active.enter(Phase.ADVANCING)
        active.execution.start(now, in_slices=True)
        self.settle(active, now)

    def _served(self, task: Task) -> Workflow[Any, Any]:
        workflow = self._registry.workflows.get((task.workflow, task.version))
        if workflow is None:
            raise LookupError(f"{task.workflow}@{task.version} was claimed but is not served here")
        return workflow

    def _execution(self, active: ActiveTask, steps: list[Step]) -> Execution:
        return Execution(
            self._served(active.task),
            active.task,
            steps,
            payload_limit=self._settings.payload_bytes,
            max_steps=self._settings.history_steps,
            failures=self._failures,
            former=active.execution,
        )

    def _apply(self, active: ActiveTask, decisions: Decisions, now: float) -> None:
        end = decisions.end
        if end is not None and isinstance(end, Broken):
            self._ends.broken(active, end.message, now)
            return
        if end is not None and isinstance(end, Diverged):
            self._ends.diverged(active, end, now)
            return
        if decisions.delivered:
            self._deliver(active, decisions, now)
        if decisions.recorded or decisions.answers:
            self._record(active, decisions, now)
        self._begin_all(active, decisions.calls, now)
        if decisions.abandoned and not isinstance(end, Failed):
            for key in decisions.abandoned:
                self._abandon(active, key, now)
        if end is not None:
            self._end(active, end, now)
        elif active.bytes > self._settings.history_bytes:
            self._ends.too_long(active, now)

    def _deliver(self, active: ActiveTask, decisions: Decisions, now: float) -> None:
        """Give outcomes that stand on their rows already their places in the order."""
        task = active.task
        for delivered in decisions.delivered:
            active.changed().deliver(Deliver(task.uid, task.run, *astuple(delivered)))
            known = active.recorded.pop(delivered.key, None) if active.recorded else None
            if known is not None:
                self._report_outcome(active, *known, now)

    def _note_outcome(
        self, active: ActiveTask, step: Step, error: bytes | None, now: float, *, delivered: bool
    ) -> None:
        """Send the status event of an outcome once it is delivered: the workflow may not have asked for it yet."""
        if delivered:
            self._report_outcome(active, step, error, now)
        else:
            active.recorded = lazy_collections.keyed(active.recorded, step.key, (step, error))

    def _report_outcome(self, active: ActiveTask, step: Step, error: bytes | None, now: float) -> None:
        kind = StatusEventType.STEP_COMPLETED if error is None else StatusEventType.STEP_FAILED
        active.report(kind, now, step=step.key, name=step.name, **ended_with(None, error))

    def _record(self, active: ActiveTask, decisions: Decisions, now: float) -> None:
        change = active.changed()
        for recorded in decisions.recorded:
            change.inserts.append(rows.recorded_step(active.task, recorded))
            change.attributes = active.task.attributes if recorded.name == SET_ATTRIBUTES else change.attributes
            if recorded.taken is not None:
                change.take(recorded.taken)
        for written in decisions.written:
            change.write(written, now)
        change.answer(decisions.answers, now)

    def _begin_all(self, active: ActiveTask, calls: Sequence[StepCall], now: float) -> None:
        for call in calls:
            inserts = (active.change or active.changed()).inserts
            is_large = len(inserts) >= NEW_STEPS_PER_COMMIT or len(call.input) > LARGE_INPUT
            if active.overflow or (is_large and rows.are_full(inserts, call)):
                active.overflow = lazy_collections.keyed(active.overflow, call.key, call)
            else:
                self._begin(active, call, now)

    def _begin(self, active: ActiveTask, call: StepCall, now: float) -> None:
        step = active.begin(call)
        step_id = (step.run, step.key)
        if active.set_aside and (former := former_generations(active.set_aside).get(step_id)) is not None:
            rows.again(step, former)
        change = active.change or active.changed()
        if active.planned and step_id in active.planned:
            active.planned.remove(step_id)
            change.fill(step)
        else:
            change.inserts.append(step)
        if step.kind is CHILD:
            child_tasks.begin(active, step, call, self._registry.events_to, self._settings.child_depth, now)
        else:
            self._starts.ask(active, step, now)

    def _abandon(self, active: ActiveTask, key: str, now: float) -> None:
        step_id = (active.task.run, key)
        step = active.open.pop(step_id, None)
        if step is None:
            lazy_collections.dropped(active.overflow, key)
            return
        self._windows.free(step)
        if active.fresh and step_id in active.fresh:
            self._unstart(active, step)
            return
        active.withdraw(step)
        if step.attempt == 0:
            active.changed().move_step(rows.move(step, StepState.SKIPPED, now))
        else:
            active.changed().move_step(rows.move(step, StepState.ABANDONED, now))
            self._leave(active, step)

    def _unstart(self, active: ActiveTask, step: Step) -> None:
        """Begun and given up in one turn: nothing has left, so nothing may have happened."""
        step.state, step.attempt, step.complete_by = StepState.SKIPPED, 0, None
        if step.kind is CHILD:
            active.children -= 1
            active.changed().withdraw_child((step.run, step.key))

    def _leave(self, active: ActiveTask, step: Step) -> None:
        active.abandoned = lazy_collections.added(active.abandoned, step)
        if step.kind is CHILD:
            active.children -= 1
            active.changed().post(Post(task=key_of(step), kind=InboxKind.CANCEL, sender=active.task.id, body=b"{}"))
        else:
            active.revoked = lazy_collections.added(active.revoked, step)

    def _end(self, active: ActiveTask, end: Completed | Failed | Continued, now: float) -> None:
        active.overflow = None
        if isinstance(end, Continued):
            active.next_input = end.input
            self._leave_run(active, now)
        elif isinstance(end, Completed):
            active.output = end.output
            self._leave_run(active, now)
        else:
            self._ends.failed(active, end, self._last_rung(active.task), now)

    def _leave_run(self, active: ActiveTask, now: float) -> None:
        """Undo steps that are no longer awaited before the run is left; skip planned ones that it never asked for."""
        for run, key in sorted(active.planned or ()):
            # Its plan was another when the task was submitted.
            skip = StepMove(active.task.uid, run, key, NOT_STARTED, StepState.SKIPPED, now)
            active.changed().move_step(skip)
        if any(needs_undo(step) for step in active.abandoned):
            active.enter(Phase.CLEANING)
            known = {step.key for step in active.steps}
            active.steps = [*active.steps, *(step for step in active.abandoned if step.key not in known)]
        else:
            self._ends.left(active, now)

    def _last_rung(self, task: Task) -> str:
        workflow = self._registry.workflows.get((task.workflow, task.version))
        return workflow.supervision.last if workflow else "alert"
