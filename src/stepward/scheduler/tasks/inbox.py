"""The inbox of a task: its rows are read and handed to the task, directives first, then outcomes, then signals.

Schedulers, clients and the Supervisor write rows that can be read; a row that cannot comes from another program.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Raw, Struct

from stepward.model import failures
from stepward.model.effects import StepPlace, place_of, read_place
from stepward.model.messages.requests import Outcome, RecordedReply, Reply
from stepward.model.messages.status_events import StatusEventType, ended_with
from stepward.model.records import Alert, InboxKind, InboxRow, Step, Task
from stepward.model.states import StepKind, StepState, TaskState
from stepward.payload.sealed import why_unopened
from stepward.scheduler.agent_replies.reply_check import checked
from stepward.scheduler.tasks import child_tasks
from stepward.scheduler.tasks import step_rows as rows
from stepward.scheduler.tasks.active_task import ActiveTask
from stepward.scheduler.tasks.advance import Advance
from stepward.scheduler.tasks.kept_steps import KeptSteps
from stepward.scheduler.tasks.phases import BY_RECORD, Phase
from stepward.scheduler.tasks.task_cache import ActiveTasks
from stepward.scheduler.tasks.task_inputs import Incoming
from stepward.scheduler.tasks.transitions import Transitions
from stepward.scheduler.tasks.undo import TaskUndo
from stepward.settings import Settings
from stepward.workflow.registry import Registry

ENDING = frozenset({InboxKind.UNDO, InboxKind.CANCEL, InboxKind.FAIL})
OUTCOMES = frozenset({Outcome.COMPLETED, Outcome.FAILED})
DIRECTIVES = ENDING | {InboxKind.SUSPEND}
UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError)


class Inbox:
    """Hands the rows of an inbox to the task they are for."""

    def __init__(
        self,
        active_tasks: ActiveTasks,
        forward: Advance,
        undo: TaskUndo,
        ends: Transitions,
        incoming: Incoming,
        registry: Registry,
        settings: Settings,
    ) -> None:
        self._active_tasks = active_tasks
        self._registry = registry
        self._settings = settings
        self._forward = forward
        self._undo = undo
        self._ends = ends
        self._incoming = incoming

    def receive(self, active: ActiveTask, row: InboxRow, now: float) -> None:
        """Hand a new row to a task in memory."""
        if row.number <= active.seen or active.leaving:
            return
        active.inbox += 1
        self._active_tasks.touched[active.task.uid] = active
        if row.kind is InboxKind.STEP:
            active.enter(Phase.RELOADING)
            return
        try:
            if readable(active, [row], now) and not self.direct(active, [row], now):
                self.hand_over(active, row, now)
        except BaseException as error:
            self._ends.internal(active, error, now)

    def direct(self, active: ActiveTask, rows: list[InboxRow], now: float) -> bool:
        """Carry out the directives among ``rows``; True when the task takes another way or leaves."""
        ends = any(row.kind in ENDING for row in rows)
        for row in rows:
            active.seen = max(active.seen, row.number)
            if row.kind is InboxKind.SUSPEND and (ends or active.leaving):
                # Void beside what ends the task; and twice suspended is suspended once.
                active.changed().take(row.number)
            elif row.kind in DIRECTIVES and not active.leaving:
                active.changed().take(row.number)
                self._carry_out(active, row, now)
            elif row.kind is InboxKind.STEP and not active.leaving:
                active.changed().take(row.number)
                if row.name:
                    self._report_delay(active, row.name, now)
                else:
                    self._ends.displaced(active, now)
        return active.leaving

    def hand_over(self, active: ActiveTask, row: InboxRow, now: float) -> None:
        """Give the task an outcome or a signal that came through its inbox."""
        if row.kind is InboxKind.SIGNAL:
            self._forward.signal(active, row.number, row.name, row.body, now)
        elif row.kind is InboxKind.CHILD:
            active.changed().take(row.number)
            self._child(active, row, now)
        elif row.kind is InboxKind.REPLY:
            active.changed().take(row.number)
            self._reply(active, msgspec.json.decode(row.body, type=RecordedReply), now)

    def keep(self, active: ActiveTask, row: InboxRow, now: float) -> None:
        """Record an outcome for a task whose code does not fit: it is delivered when code fits again."""
        if row.kind is InboxKind.CHILD:
            step = _child_step(active, read_place(row.name))
            reply = None if step is None else child_tasks.reply_of(row.body, step)
        elif row.kind is InboxKind.REPLY:
            recorded = msgspec.json.decode(row.body, type=RecordedReply)
            step = active.open.get((recorded.run, recorded.key))
            reply = self._checked(recorded) if recorded.recorded_at is None else None
        else:
            return
        if step is not None and reply is not None and _is_for(reply, step):
            reply = rows.settled(step, reply)
            if reply.outcome in OUTCOMES:
                active.changed().take(row.number)
                self._undo.record(active, step, reply, now)

    def _reply(self, active: ActiveTask, reply: RecordedReply, now: float) -> None:
        step = active.open.get((reply.run, reply.key))
        if step is not None and _is_for(reply, step):
            is_recorded = reply.recorded_at is not None
            found = reply if is_recorded else self._checked(reply)
            self._incoming.deliver(active, step, found, reply.recorded_at, now)

    def _checked(self, reply: Reply) -> Reply:
        return checked(reply, self._settings.payload_bytes, self._registry.operations)

    def _carry_out(self, active: ActiveTask, row: InboxRow, now: float) -> None:
        if row.kind is InboxKind.FAIL and active.is_undoing:
            known = failures.read(row.body)
            message = str(known.get("message") or "it failed")
            self._ends.stuck(active, str(known.get("step") or ""), message, now)
        elif row.kind is InboxKind.FAIL:
            self._ends.error(active, row.body, "task_error", now)
        elif active.is_undoing:
            return
        elif row.kind is InboxKind.SUSPEND:
            self._ends.suspended(active, now)
        else:
            undo_to = TaskState.UNDONE if row.kind is InboxKind.UNDO else TaskState.CANCELLED
            self._ends.undo(active, undo_to, now, error=_cause(row.body))

    def _report_delay(self, active: ActiveTask, name: str, now: float) -> None:
        """Send the status event of a step that the Supervisor has repeated, once its owner reads of it."""
        run, _, key = name.partition("/")
        step = _kept(active, int(run), key)
        if step is None or step.kind is StepKind.UNDO or active.is_undoing:
            return
        if step.state is StepState.TO_REPEAT:
            more = {"failures": step.failure_count, "repeat_at": step.repeat_at, **ended_with(None, step.error)}
            active.report(StatusEventType.STEP_DELAYED, now, step=key, name=step.name, **more)

    def _child(self, active: ActiveTask, row: InboxRow, now: float) -> None:
        step = _child_step(active, read_place(row.name))
        if step is None:
            return
        reply = rows.settled(step, child_tasks.reply_of(row.body, step))
        if active.phase in BY_RECORD:
            self._undo.child_ended(active, step, reply, msgspec.json.decode(row.body), now)
        elif (step.run, step.key) in active.open:
            self._forward.resolve(active, step, reply, now)


def _cause(body: bytes) -> bytes | None:
    """The error that a directive carries along, if it does."""
    return body if b'"message"' in body else None


def _child_step(active: ActiveTask, place: StepPlace) -> Step | None:
    """The step that waits for a child of that place, or that waited for it until a repair set it aside."""
    run, key, generation = place
    step = active.open.get((run, key))
    if step is not None and step.generation == generation:
        return step
    kept = active.kept = active.kept or KeptSteps()
    return next((step for step in kept.undone.find(active.steps, run, key) if place_of(step) == place), None)


def _is_for(reply: Reply, step: Step) -> bool:
    return step.attempt == reply.attempt and step.state is StepState.RUNNING


def _kept(active: ActiveTask, run: int, key: str) -> Step | None:
    return next((step for step in active.steps if step.run == run and step.key == key), None)


class Ended(Struct):
    """The fields that a parent needs of a child's end."""

    state: str
    output: Raw
    error: Raw


def readable(active: ActiveTask, inbox: Sequence[InboxRow], now: float) -> list[InboxRow]:
    """The rows that can be read; the others are used up, each with an alert."""
    found = []
    for row in inbox:
        complaint = _complaint_about(row)
        if complaint is None:
            found.append(row)
        else:
            active.seen = max(active.seen, row.number)
            active.changed().take(row.number)
            active.changed().alert(_alert(active.task, row, complaint, now))
    return found


def _complaint_about(row: InboxRow) -> str | None:
    """Why the row cannot be read; None if it can."""
    try:
        if row.kind is InboxKind.REPLY:
            msgspec.json.decode(row.body, type=RecordedReply)
        elif row.kind is InboxKind.CHILD:
            read_place(row.name)
            msgspec.json.decode(row.body, type=Ended)
        elif row.kind is InboxKind.SIGNAL and why_unopened(row.body) is not None:
            # It is given to the workflow, whose error names the reason, and is whole where it belongs.
            return None
        elif row.kind is not InboxKind.STEP:
            msgspec.json.decode(row.body)
        elif row.name:
            int(row.name.partition("/")[0])
    except UNREADABLE as error:
        return str(error)
    return None


def _alert(task: Task, row: InboxRow, complaint: str, now: float) -> Alert:
    message = (
        f"{task.id}: expected in its inbox what Stepward writes there, found as {row.kind} from "
        f"{row.sender or 'no sender'} what cannot be read ({complaint}): dropped; find the program that writes there"
    )
    return rows.alert(task, "unreadable_inbox", message, now, found=row.kind.value, name=row.name, sender=row.sender)
