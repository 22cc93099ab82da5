"""Moving a task forward: what its execution decides becomes this turn's change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import astuple

from stepward.model import failures
from stepward.model.effects import former_generations, key_of, needs_undo, undo_key
from stepward.model.failures import FailureConverter
from stepward.model.messages.requests import Outcome, Reply
from stepward.model.messages.status_events import Told, ended_with
from stepward.model.plan import is_planned
from stepward.model.records import History, InboxKind, Step, Task
from stepward.model.states import StepKind, StepState, TaskState
from stepward.model.stopped_tasks import is_stopped, place_of
from stepward.scheduler.admission.windows import Desk
from stepward.scheduler.tasks import step_rows as rows
from stepward.scheduler.tasks.active_task import Resident
from stepward.scheduler.tasks.transitions import Ends
from stepward.settings import Settings
from stepward.store.contract import Deliver, Dispatch, Post, StepMove
from stepward.workflow.decisions import Broken, Completed, Continued, Decisions, Diverged, Failed, StepCall
from stepward.workflow.definition import Workflow
from stepward.workflow.engine import Execution
from stepward.workflow.registry import Registry

NEW_STEPS_PER_COMMIT = 1000
OPEN = frozenset({StepState.NOT_STARTED, StepState.RUNNING, StepState.TO_REPEAT})
UNDONE = frozenset({TaskState.UNDONE, TaskState.CANCELLED})
ANSWERED = frozenset({StepState.COMPLETED, StepState.FAILED})


class Forward:
    """Runs workflow code and writes down what it asks for."""

    def __init__(
        self,
        registry: Registry,
        desk: Desk,
        settings: Settings,
        ends: Ends,
        start: Callable[[Resident, Step], None],
        failures: FailureConverter,
    ) -> None:
        self._registry = registry
        self._desk = desk
        self._settings = settings
        self._ends = ends
        self._failures = failures
        self._start = start
        """Called with each step that is to leave once the commit is through."""

    def plan(self, resident: Resident) -> None:
        """A task that is born here is recorded with the plan of its workflow, if that has one."""
        task = resident.task
        workflow = self._registry.workflow(task.workflow, task.version)
        if workflow is not None and workflow.plan is not None:
            resident.changed().plan(task.workflow, task.version, workflow.plan)
            resident.planned = {(task.run, stage.key) for stage in workflow.plan}

    def admit(self, resident: Resident, history: History, now: float) -> None:
        """Replay a task's record, and go on from its end."""
        task = resident.task
        workflow = self._registry.workflow(task.workflow, task.version)
        if workflow is None:
            raise LookupError(f"{task.workflow}@{task.version} was claimed but is not served here")
        live = self._live(resident, history.steps)
        reached = self._reached(resident, live)
        resident.open = {(s.run, s.key): s for s in reached if s.state in OPEN}
        resident.abandoned = [s for s in live if s.state is StepState.ABANDONED]
        resident.recorded = {s.key: (s, _failure(s)) for s in live if s.ordinal is None and s.state in ANSWERED}
        resident.bytes = sum([len(s.input) + len(s.output or b"") for s in history.steps])
        self._cleaning_of(resident, live, now)
        own = [step for step in reached if step.kind is not StepKind.UNDO]
        resident.execution = self._execution(workflow, task, own)
        resident.execution.start(now)
        if task.error is not None and not isinstance(resident.execution.ended, Diverged) and is_stopped(task):
            resident.changed().fits = place_of(task)
            task.error, resident.mended = None, True
        for row in history.inbox:
            if row.kind is InboxKind.SIGNAL:
                resident.execution.signal(row.number, row.name, row.body, now)
        self.settle(resident, now)

    def resolve(self, resident: Resident, step: Step, reply: Reply, now: float) -> None:
        """Deliver the outcome of an open step to the workflow."""
        execution = resident.execution
        if execution is None:
            return
        del resident.open[(step.run, step.key)]
        if resident.change is not None:
            resident.withdraw(step)
        self._desk.free(step)
        resident.children -= step.kind is StepKind.CHILD
        resident.bytes += len(reply.output or b"")
        # What is recorded counts, whatever else a reply may say: a replay sees no more than that.
        error = None if reply.outcome is Outcome.COMPLETED else reply.error or b"{}"
        execution.resolve(step.key, output=reply.output, error=error, at=now)
        decisions = execution.take()
        delivered = decisions.take_delivery(step.key)
        resident.changed().finishes.append(rows.finish(step, reply, delivered, now))
        if resident.task.reply_to is not None:
            self._hear_outcome(resident, step, error, now, delivered=delivered is not None)
        self._apply(resident, decisions, now)

    def gave_up(self, resident: Resident, step: Step, reply: Reply, now: float) -> None:
        """The Agent got nowhere: the attempt is the Supervisor's to judge at once."""
        resident.changed().watch(rows.watch(step, now, reply))
        step.watched, step.complete_by = True, now
        step.error, step.in_doubt = reply.error, reply.maybe_done
        self._desk.free(step)

    def deferred(self, resident: Resident, step: Step, now: float) -> None:
        """The Agent has done its part: somebody outside finishes the step, or the Supervisor judges it in time."""
        step.watched, step.deferred_at, resident.defers = True, now, True
        resident.changed().watch(rows.watch(step, step.complete_by or 0.0))
        self._desk.free(step)

    def deliver_recorded(self, resident: Resident, step: Step, reply: Reply, committed_at: float, now: float) -> None:
        """Deliver an outcome that stands on its row already, committed by the step itself or by somebody outside."""
        execution = resident.execution
        if execution is None:
            return
        del resident.open[(step.run, step.key)]
        resident.withdraw(step)
        self._desk.free(step)
        execution.resolve(step.key, output=reply.output, error=reply.error, at=committed_at)
        self._hear_outcome(resident, step, reply.error, now, delivered=False)
        self._apply(resident, execution.take(), now)

    def signal(self, resident: Resident, number: int, name: str, body: bytes, now: float) -> None:
        """Hand a signal to the workflow."""
        if resident.execution is not None:
            resident.execution.signal(number, name, body, now)
            self.settle(resident, now)

    def due(self, resident: Resident, now: float) -> None:
        """Fire the workflow's timers that are due."""
        execution = resident.execution
        if execution is not None and execution.next_timer is not None and execution.next_timer <= now:
            execution.fire(now)
            self.settle(resident, now)

    def settle(self, resident: Resident, now: float) -> None:
        """Write down whatever the execution decided since it was last asked."""
        if resident.execution is not None:
            self._apply(resident, resident.execution.take(), now)

    def spill(self, resident: Resident, now: float) -> None:
        """Start the next of the steps that one commit could not hold."""
        while resident.overflow and len(resident.changed().inserts) < NEW_STEPS_PER_COMMIT:
            self._begin(resident, resident.overflow.popitem(last=False)[1], now)

    def refuse(self, resident: Resident, now: float) -> None:
        """Fail the children that would stand too deep, and those that the workflow asks for thereupon."""
        limit = self._settings.child_depth
        while resident.refused:
            step = resident.refused.pop()
            if resident.open.get((step.run, step.key)) is step:
                self.resolve(resident, step, rows.too_deep(step, limit), now)

    def restart(self, resident: Resident, now: float) -> None:
        """Begin the run that ``continue_as_new`` asked for."""
        workflow = self._registry.workflow(resident.task.workflow, resident.task.version)
        if workflow is not None:
            resident.execution = self._execution(workflow, resident.task, [])
            resident.execution.start(now)
            self.settle(resident, now)

    def launch(self, resident: Resident, step: Step, now: float) -> None:
        """Begin the next attempt of a step that has a row and a place in its Agent's window."""
        rows.start(step, resident.task, now)
        if (step.run, step.key) not in resident.fresh:
            resident.changed().dispatch(Dispatch(step.task, step.run, step.key, step.attempt, now, step.complete_by))
        self._start(resident, step)

    def ask(self, resident: Resident, step: Step, now: float) -> None:
        """Begin an attempt if there is room, or let the step wait for it in the backlog."""
        if self._desk.take(step, resident.task.priority):
            self.launch(resident, step, now)
        else:
            self._desk.wait(step, resident.task.priority, resident.task.fairness_key)

    def _execution(self, workflow: Workflow[Any, Any], task: Task, steps: list[Step]) -> Execution:
        return Execution(
            workflow,
            task,
            steps,
            payload_limit=self._settings.payload_bytes,
            max_steps=self._settings.history_steps,
            failures=self._failures,
        )

    def _live(self, resident: Resident, steps: list[Step]) -> list[Step]:
        """What repairs set aside is kept, and is no part of what is replayed; nor are the undos of it."""
        resident.set_aside = [step for step in steps if step.set_aside_at is not None]
        if not resident.set_aside:
            return steps
        beside = {step.key for step in resident.set_aside} | {undo_key(step) for step in resident.set_aside}
        return [step for step in steps if step.key not in beside]

    def _reached(self, resident: Resident, steps: list[Step]) -> list[Step]:
        """What is planned and nothing more is no history."""
        planned = {(step.run, step.key) for step in steps if is_planned(step)}
        if not planned:
            return steps
        resident.planned = planned
        return [step for step in steps if not is_planned(step)]

    def _cleaning_of(self, resident: Resident, live: list[Step], now: float) -> None:
        """Undos that were begun go on; what an operator undid by hand is undone."""
        undos = {step.key: step for step in live if step.kind is StepKind.UNDO}
        for step in resident.abandoned:
            undo = undos.get(undo_key(step))
            if undo is not None and undo.state is StepState.COMPLETED:
                resident.changed().move_step(rows.move(step, StepState.UNDONE, now))
        resident.steps = [*resident.abandoned, *undos.values()]

    def _apply(self, resident: Resident, decisions: Decisions, now: float) -> None:
        end = decisions.end
        if end is not None and isinstance(end, Broken):
            self._ends.broken(resident, end.message, now)
            return
        if end is not None and isinstance(end, Diverged):
            self._ends.diverged(resident, end, now)
            return
        if decisions.delivered:
            self._deliver(resident, decisions, now)
        if decisions.recorded:
            self._record(resident, decisions)
        for call in decisions.calls:
            self._call(resident, call, now)
        if decisions.abandoned and not isinstance(end, Failed):
            for key in decisions.abandoned:
                self._abandon(resident, key, now)
        if end is not None:
            self._end(resident, end, now)
        elif resident.bytes > self._settings.history_bytes:
            self._ends.too_long(resident, now)

    def _deliver(self, resident: Resident, decisions: Decisions, now: float) -> None:
        """Give outcomes that stand on their rows already their places in the order."""
        task = resident.task
        for delivered in decisions.delivered:
            resident.changed().deliver(Deliver(task.uid, task.run, *astuple(delivered)))
            known = resident.recorded.pop(delivered.key, None)
            if known is not None:
                self._tell_outcome(resident, *known, now)

    def _hear_outcome(
        self, resident: Resident, step: Step, error: bytes | None, now: float, *, delivered: bool
    ) -> None:
        """An outcome is told once, when it is delivered: what the workflow has not asked for yet waits until then."""
        if delivered:
            self._tell_outcome(resident, step, error, now)
        else:
            resident.recorded[step.key] = step, error

    def _tell_outcome(self, resident: Resident, step: Step, error: bytes | None, now: float) -> None:
        told = Told.STEP_COMPLETED if error is None else Told.STEP_FAILED
        resident.tell(told, now, step=step.key, name=step.name, **ended_with(None, error))

    def _record(self, resident: Resident, decisions: Decisions) -> None:
        change = resident.changed()
        for recorded in decisions.recorded:
            change.inserts.append(rows.recorded_step(resident.task, recorded))
            if recorded.taken is not None:
                change.take(recorded.taken)

    def _call(self, resident: Resident, call: StepCall, now: float) -> None:
        change = resident.change or resident.changed()
        if resident.overflow or len(change.inserts) >= NEW_STEPS_PER_COMMIT:
            resident.overflow[call.key] = call
        else:
            self._begin(resident, call, now)

    def _begin(self, resident: Resident, call: StepCall, now: float) -> None:
        task = resident.task
        step = rows.new_step(task, call)
        step_id = (task.run, call.key)
        if resident.set_aside and (former := former_generations(resident.set_aside).get(step_id)) is not None:
            rows.again(step, former)
        resident.open[step_id] = step
        resident.fresh.add(step_id)
        resident.bytes += len(call.input)
        change = resident.change or resident.changed()
        if resident.planned and step_id in resident.planned:
            resident.planned.remove(step_id)
            change.fill(step)
        else:
            change.inserts.append(step)
        if step.kind is StepKind.CHILD:
            self._begin_child(resident, step, call, now)
        else:
            self.ask(resident, step, now)

    def _begin_child(self, resident: Resident, step: Step, call: StepCall, now: float) -> None:
        task, action = resident.task, call.action
        resident.children += 1
        step.state, step.attempt, step.started_at = StepState.RUNNING, step.attempt + 1, now
        step.complete_seconds = None
        if task.depth >= self._settings.child_depth:
            resident.refused.append(step)
            return
        limit = None if action.complete_seconds is None else now + action.complete_seconds
        if task.deadline is not None:
            limit = task.deadline if limit is None else min(limit, task.deadline)
        version = action.version if isinstance(action, Workflow) else "1"
        if isinstance(action, Workflow) and action.plan is not None:
            resident.changed().plan(action.name, version, action.plan)
        resident.changed().begin_child(rows.child_task(task, step, call, version, limit, now))

    def _abandon(self, resident: Resident, key: str, now: float) -> None:
        step_id = (resident.task.run, key)
        step = resident.open.pop(step_id, None)
        if step is None:
            resident.overflow.pop(key, None)
            return
        self._desk.free(step)
        if step_id in resident.fresh:
            self._unstart(resident, step)
            return
        resident.withdraw(step)
        if step.attempt == 0:
            resident.changed().move_step(rows.move(step, StepState.SKIPPED, now))
        else:
            resident.changed().move_step(rows.move(step, StepState.ABANDONED, now))
            self._leave(resident, step)

    def _unstart(self, resident: Resident, step: Step) -> None:
        """Begun and given up in one turn: nothing has left, so nothing may have happened."""
        step.state, step.attempt, step.complete_by = StepState.SKIPPED, 0, None
        if step.kind is StepKind.CHILD:
            resident.children -= 1
            resident.changed().withdraw_child((step.run, step.key))

    def _leave(self, resident: Resident, step: Step) -> None:
        resident.abandoned.append(step)
        if step.kind is StepKind.CHILD:
            resident.children -= 1
            resident.changed().post(Post(task=key_of(step), kind=InboxKind.CANCEL, sender=resident.task.id, body=b"{}"))
        else:
            resident.revoked.append(step)

    def _end(self, resident: Resident, end: Completed | Failed | Continued, now: float) -> None:
        resident.overflow.clear()
        if isinstance(end, Continued):
            resident.next_input = end.input
            self._leave_run(resident, now)
        elif isinstance(end, Completed):
            self._complete(resident, end.output, now)
        else:
            self._ends.failed(resident, end, self._last_rung(resident.task), now)

    def _complete(self, resident: Resident, output: bytes, now: float) -> None:
        resident.output = output
        self._leave_run(resident, now)

    def _leave_run(self, resident: Resident, now: float) -> None:
        """What nobody awaited any more is undone before the run is left; what it never asked for is skipped."""
        for run, key in sorted(resident.planned or ()):
            # Its plan was another when the task was submitted.
            skip = StepMove(resident.task.uid, run, key, StepState.NOT_STARTED, StepState.SKIPPED, now)
            resident.changed().move_step(skip)
        if any(needs_undo(step) for step in resident.abandoned):
            resident.cleaning = True
            known = {step.key for step in resident.steps}
            resident.steps += [step for step in resident.abandoned if step.key not in known]
        else:
            self._ends.left(resident, now)

    def _last_rung(self, task: Task) -> str:
        workflow = self._registry.workflow(task.workflow, task.version)
        return workflow.supervision.last if workflow else "alert"


def _failure(step: Step) -> bytes | None:
    return step.error or b"{}" if step.state is StepState.FAILED else None


def child_reply(body: bytes, step: Step) -> Reply:
    """A child's end, as the reply to the step that waits for it."""
    value = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    state = msgspec.json.decode(value["state"], type=str)
    done = state == TaskState.PROCESSED
    known = {} if done else failures.read(bytes(value["error"]))
    error = rows.error_object(
        known.get("message") or f"{step.key} ended {state}",
        "TaskEnded",
        state=state,
        data=known.get("data", {}),
    )
    return Reply(
        task=step.task,
        run=step.run,
        key=step.key,
        attempt=step.attempt,
        outcome=Outcome.COMPLETED if done else Outcome.FAILED,
        output=bytes(value["output"]) if done else None,
        error=None if done else error,
        # What a child in error did still stands, and so may what it was undone without.
        maybe_done=not done and (state not in UNDONE or bool(known.get("in_doubt"))),
    )
