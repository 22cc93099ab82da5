"""Transitions of a task: one move of its row each, with the alert and the message to its parent."""

from __future__ import annotations

from typing import Any

import msgspec

from stepward.error_messages import named
from stepward.model import failures
from stepward.model.application_calls import failure_of
from stepward.model.effects import is_in_doubt, may_have_acted
from stepward.model.messages.status_events import OF_STATE, StatusEventType, ended_with
from stepward.model.records import InboxKind, Task
from stepward.model.states import StepState, TaskState
from stepward.model.tasks import stopped_tasks
from stepward.model.tasks.complete_by import of_claim, of_steps
from stepward.payload import readable
from stepward.scheduler.admission.windows import Windows
from stepward.scheduler.tasks import child_tasks
from stepward.scheduler.tasks import step_rows as rows
from stepward.scheduler.tasks.active_task import ActiveTask
from stepward.scheduler.tasks.phases import Phase
from stepward.settings import Settings
from stepward.store.contract import Post, TaskMove
from stepward.workflow.decisions import Diverged, Failed
from stepward.workflow.undo_planner import has_begun

UNDO_FAILED = "UndoFailed"


class Transitions:
    """Writes the last change of a task in memory, after which it is forgotten or read again."""

    def __init__(self, windows: Windows, settings: Settings) -> None:
        self._windows = windows
        self._settings = settings

    def left(self, active: ActiveTask, now: float) -> None:
        """The run is over and cleaned up: the next one begins, or the task is done."""
        doubt = [s.key for s in active.abandoned if is_in_doubt(s) and not s.has_undo]
        doubt += [s.key for s in active.set_aside if is_in_doubt(s)]
        if active.next_input is None:
            self._processed(active, doubt, now)
        else:
            self._continued(active, active.next_input, doubt, now)

    def _processed(self, active: ActiveTask, doubt: list[str], now: float) -> None:
        """All done: the pattern's ``Processed``."""
        error = rows.error_object("abandoned steps may have acted", "InDoubt", in_doubt=doubt) if doubt else None
        self._end(active, TaskState.PROCESSED, now, output=active.output, error=error)

    def undone(self, active: ActiveTask, in_doubt: list[str], now: float) -> None:
        """All that had to be undone is undone."""
        task = active.task
        if in_doubt:
            message = f"{task.id} was undone, but steps without an undo may have acted: {', '.join(in_doubt)}"
            active.changed().alert(rows.alert(task, "in_doubt", message, now, in_doubt=in_doubt))
        error = _with_doubt(_cause(task.error), in_doubt)
        self._end(active, task.undo_to or TaskState.UNDONE, now, error=error)

    def failed(self, active: ActiveTask, end: Failed, last_rung: str, now: float) -> None:
        """An exception left the workflow: a StepFailed is undone where the policy says so, all else needs a person."""
        if end.step_failed and last_rung == "undo":
            self.undo(active, TaskState.UNDONE, now, error=end.error)
            return
        self.error(active, end.error, "task_error", now)

    def broken(self, active: ActiveTask, message: str, now: float) -> None:
        """The code did what no workflow may: nothing of this turn is written but the error itself."""
        active.discard_decisions(now)
        self.error(active, rows.error_object(message, stopped_tasks.TYPE), stopped_tasks.KIND, now)

    def diverged(self, active: ActiveTask, end: Diverged, now: float) -> None:
        """The code does not fit the record: nothing is decided, and the task waits for code that does.

        It is tried again after a while, and whenever a Scheduler starts that serves it. One alert stands for all tasks
        that stop at this difference.
        """
        active.discard_decisions(now)
        task, tries = active.task, stopped_tasks.tries(active.task) + 1
        message = f"{end.message}; other tasks may wait for the same"
        alert = rows.alert(task, stopped_tasks.KIND, message, now)
        details = stopped_tasks.alert_details(task, end.place)
        active.changed().alert(msgspec.structs.replace(alert, details=details))
        former = stopped_tasks.place_of(task)
        if former != details:
            active.changed().fits = former
        retry_at = now + stopped_tasks.retry_after(tries)
        if tries == 1:
            active.report(StatusEventType.WAITING, now, waits_for=stopped_tasks.WAITS_FOR, until=retry_at)
        active.changed().move = self.move(
            task,
            TaskState.WAITING,
            now,
            inbox=active.inbox,
            release=True,
            wake_at=retry_at,
            waits_for=stopped_tasks.WAITS_FOR,
            complete_by=of_steps(active.open.values()),
            error=stopped_tasks.stopped_error(end.message, end.place, tries),
            progress=False,
        )
        active.enter(Phase.STOPPED)

    def internal(self, active: ActiveTask, fault: BaseException, now: float) -> None:
        """Something of this task broke the Scheduler's own code: it is parked, with what is known."""
        error = failure_of(fault)
        active.discard_decisions(now)
        message = f"expected to go on with its record, found {named(error)}"
        self.error(active, rows.error_object(message, "Internal"), "internal", now)

    def too_long(self, active: ActiveTask, now: float) -> None:
        """The history's limit is reached."""
        limit = self._settings.history_bytes
        message = f"expected at most {limit:,} bytes of history, found {active.bytes:,}; use continue_as_new"
        self.error(active, rows.error_object(message, "HistoryTooLong"), "task_error", now)

    def error(self, active: ActiveTask, error: bytes, kind: str, now: float, **details: Any) -> None:
        """The pattern's ``Error``, with an alert in the same commit."""
        self._forget_unsent(active)
        task = active.task
        known = failures.read(error)
        message = f"{task.workflow} {task.id}: {failures.titled(known) or 'failed'}"
        active.changed().alert(
            rows.alert(task, kind, message, now, step=known.get("step") or None, error=known, **details)
        )
        self._end(active, TaskState.ERROR, now, error=error)

    def stuck(self, active: ActiveTask, step: str, message: str, now: float) -> None:
        """Undo cannot go on: the alert lists what is undone and what is in doubt."""
        undone = [s.key for s in active.steps if s.state is StepState.UNDONE]
        doubt = [s.key for s in active.steps if may_have_acted(s)]
        error = rows.error_object(
            message, UNDO_FAILED, step=step, undone=undone, in_doubt=doubt, cause=readable(_cause(active.task.error))
        )
        self.error(active, error, "undo_failed", now, undone=undone, in_doubt=doubt)

    def barred(self, active: ActiveTask, step: str, message: str, now: float) -> None:
        """Undo may not go past ``step``; where none has begun, a resubmission goes forward again."""
        self.stuck(active, step, message, now)
        change = active.changed()
        if change.move is not None and not has_begun(active.steps):
            change.move = msgspec.structs.replace(change.move, undo_to=None)

    def undo(self, active: ActiveTask, undo_to: TaskState, now: float, *, error: bytes | None = None) -> None:
        """Turn to undo: from here on only undo goes on, by the records alone."""
        self._forget_unsent(active)
        active.changed().move = self.move(
            active.task,
            TaskState.UNDOING,
            now,
            undo_to=undo_to,
            error=error or active.task.error,
            complete_by=active.held_until(now),
        )
        active.changed().fits = stopped_tasks.place_of(active.task)
        active.report(StatusEventType.UNDOING, now, **ended_with(None, error))
        active.enter(Phase.RELOADING)

    def suspended(self, active: ActiveTask, now: float) -> None:
        """Let the task go until an operator resumes it."""
        active.report(StatusEventType.SUSPENDED, now)
        self._let_go(active, TaskState.SUSPENDED, now)

    def evicted(self, active: ActiveTask, now: float) -> None:
        """Let a waiting task go from memory; its timer or its inbox brings it back."""
        self._let_go(active, TaskState.WAITING, now)

    def displaced(self, active: ActiveTask, now: float) -> None:
        """Release a task that waits for room: a Scheduler that has room claims it again, in its old place."""
        task = active.task
        after = TaskState.UNDOING if active.is_undoing else TaskState.PENDING
        face = {"inbox": active.inbox, "release": True, "waits_for": task.waits_for, "progress": False}
        active.changed().move = self.move(task, after, now, **face)
        active.enter(Phase.RELEASED)

    def _continued(self, active: ActiveTask, input: bytes, doubt: list[str], now: float) -> None:
        """Begin the task's next run; what this one leaves in doubt becomes an alert."""
        task = active.task
        if doubt:
            message = f"{task.id}: abandoned steps of run {task.run} may have acted: {', '.join(doubt)}"
            active.changed().alert(rows.alert(task, "in_doubt", message, now, in_doubt=doubt))
        move = self.move(task, TaskState.PROCESSING, now, complete_by=of_claim(now))
        active.changed().move = msgspec.structs.replace(move, run=task.run + 1, input=input)
        active.enter(Phase.CONTINUING)

    def move(self, task: Task, after: TaskState, now: float, **face: Any) -> TaskMove:
        """A move of the task row that keeps what is not named."""
        kept = {"error": task.error, "undo_to": task.undo_to, "output": task.output}
        return TaskMove(before=task.state, after=after, at=now, **(kept | face))

    def _end(
        self,
        active: ActiveTask,
        after: TaskState,
        now: float,
        *,
        output: bytes | None = None,
        error: bytes | None,
    ) -> None:
        task = active.task
        change = active.changed()
        change.move = self.move(task, after, now, inbox=active.inbox, release=True, output=output, error=error)
        if change.fits is None:
            # It waits for code that fits no longer.
            change.fits = stopped_tasks.place_of(task)
        active.report(OF_STATE[after], now, **ended_with(output, error))
        if task.parent is not None:
            change.post(
                Post(
                    task=task.parent,
                    kind=InboxKind.CHILD,
                    name=f"{task.parent_run}/{task.parent_step}",
                    body=child_tasks.end_of(after, output, error, undoing=task.undo_to is not None),
                    sender=task.id,
                )
            )
        active.enter(Phase.RELEASED)

    def _let_go(self, active: ActiveTask, after: TaskState, now: float) -> None:
        active.changed().move = self.move(
            active.task,
            after,
            now,
            inbox=active.inbox,
            release=True,
            wake_at=active.wakes_at,
            waits_for=active.task.waits_for,
        )
        active.enter(Phase.RELEASED)

    def _forget_unsent(self, active: ActiveTask) -> None:
        """Steps that the failing drive asked for have no row yet, and get none: a resubmission asks again."""
        change = active.changed()
        unsent = {
            step_id: step for step_id in active.fresh or () if (step := active.open.pop(step_id, None)) is not None
        }
        for step in unsent.values():
            self._windows.free(step)
        change.inserts = [step for step in change.inserts if (step.run, step.key) not in unsent]
        change.fills = [step for step in change.fills if (step.run, step.key) not in unsent]
        change.children = ()


def _cause(error: bytes | None) -> bytes | None:
    """Why undo began, also when it failed in between."""
    known = failures.read(error)
    if known.get("type") != UNDO_FAILED:
        return error
    return msgspec.json.encode(known["cause"]) if known.get("cause") else None


def _with_doubt(error: bytes | None, in_doubt: list[str]) -> bytes | None:
    if not in_doubt:
        return error
    known = failures.read(error) or {"message": "undone with steps in doubt", "type": "InDoubt"}
    return msgspec.json.encode(known | {"in_doubt": in_doubt})
