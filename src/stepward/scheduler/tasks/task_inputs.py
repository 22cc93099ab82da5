"""Input for tasks in memory: replies, instants that are due, windows for waiting steps."""

from __future__ import annotations

from collections.abc import Iterator

from stepward.events import Observers
from stepward.model import failures
from stepward.model.effects import asked_as
from stepward.model.messages.requests import DEFERRED, GAVE_UP, NEGATIVE, OUTCOME_COMPLETED, Reply
from stepward.model.records import Alert, Audit, Step, Task
from stepward.model.states import NOT_STARTED, RUNNING, UNDO, StepState
from stepward.scheduler.admission.windows import BacklogKey, Windows
from stepward.scheduler.agent_replies.reply_check import is_unreadable
from stepward.scheduler.dispatch.dispatcher import StepStarts
from stepward.scheduler.tasks import step_rows as rows
from stepward.scheduler.tasks.active_task import ActiveTask, StepId
from stepward.scheduler.tasks.advance import Advance
from stepward.scheduler.tasks.kept_steps import KeptSteps
from stepward.scheduler.tasks.late_effects import denied_effect
from stepward.scheduler.tasks.lazy_collections import added
from stepward.scheduler.tasks.phases import BY_RECORD, Phase
from stepward.scheduler.tasks.task_cache import ActiveTasks
from stepward.scheduler.tasks.transitions import Transitions
from stepward.scheduler.tasks.undo import TaskUndo

STARTABLE = frozenset({NOT_STARTED, StepState.TO_REPEAT})


class Incoming:
    """Hands what comes in to the tasks that it is for; what breaks on one task is that task's error."""

    def __init__(
        self,
        active_tasks: ActiveTasks,
        forward: Advance,
        undo: TaskUndo,
        ends: Transitions,
        windows: Windows,
        starts: StepStarts,
        observers: Observers,
    ) -> None:
        self._active_tasks = active_tasks
        self._forward = forward
        self._undo = undo
        self._ends = ends
        self._windows = windows
        self._timers = active_tasks.timers
        self._starts = starts
        self._observers = observers

    def answer(self, reply: Reply, committed_at: float | None, now: float) -> None:
        """Hand a reply to its step; one that is not awaited changes nothing and is audited."""
        active = self._active_tasks.tasks.get(reply.task)
        if active is None:
            self._active_tasks.strays.append(reply)
            return
        self._active_tasks.touched[reply.task] = active
        step = active.open.get((reply.run, reply.key))
        if active.leaving:
            if committed_at is None:
                active.held_back = added(active.held_back, reply)
        elif step is not None and step.attempt == reply.attempt and step.state is RUNNING:
            if committed_at is None:
                if active.replies is None:
                    active.replies = []
                active.replies.append(reply)
            try:
                self.deliver(active, step, reply, committed_at, now)
            except BaseException as error:
                self._ends.internal(active, error, now)
        else:
            self._late(active, reply, now)

    def deliver(self, active: ActiveTask, step: Step, reply: Reply, recorded_at: float | None, now: float) -> None:
        """Give a running step its answer; ``recorded_at`` if its outcome stands on the row already."""
        if recorded_at is None and reply.outcome in NEGATIVE:
            reply = self._failed(active, step, reply, now)
        if reply.outcome is GAVE_UP:
            self._gave_up(active, step, reply, now)
        elif reply.outcome is DEFERRED:
            self._deferred(active, step, now)
        elif active.phase in BY_RECORD or step.kind is UNDO:
            if recorded_at is None:
                self._undo.resolve(active, step, reply, now)
            else:
                # The records decide which undo follows from it.
                active.enter(Phase.RELOADING)
        elif recorded_at is None:
            self._forward.resolve(active, step, reply, now)
        else:
            self._forward.deliver_recorded(active, step, reply, recorded_at, now)

    def strike(self, uid: str, now: float) -> None:
        """Do what is due for a task: timers and repeats."""
        active = self._active_tasks.tasks.get(uid)
        if active is not None and not active.leaving:
            self._active_tasks.touched[uid] = active
            try:
                self._due(active, now)
            except BaseException as error:
                self._ends.internal(active, error, now)

    def go_on(self, active: ActiveTask, now: float) -> None:
        """Run the next slice of its workflow's callbacks."""
        if active.execution is None:
            return
        try:
            active.execution.go_on()
            self._forward.settle(active, now)
        except BaseException as error:
            self._ends.internal(active, error, now)

    def watch(self, active: ActiveTask, step_id: StepId, attempt: int) -> None:
        """Show a request that is not answered yet to the Supervisor."""
        if not active.leaving and active.watch(step_id, attempt):
            self._active_tasks.touched[active.task.uid] = active

    def start(self, place: BacklogKey, now: float) -> None:
        """Start a waiting step, as there is room for it now."""
        uid, run, key = place
        active = self._active_tasks.tasks.get(uid)
        step = active.open.get((run, key)) if active is not None else None
        if active is None or step is None or active.leaving:
            return
        if step.state in STARTABLE and active.may_start(step):
            self._active_tasks.touched[uid] = active
            self._windows.occupy(step)
            self._starts.launch(active, step, now)

    def alert_starved(self, agent: str, place: BacklogKey, now: float) -> None:
        """Alert an operator of a step, and others, that wait for an Agent which no live instance offers."""
        uid, _, key = place
        active = self._active_tasks.tasks.get(uid)
        if active is not None and not active.leaving:
            message = f"{key} and others wait for Agent {agent}, which no live instance offers; start one"
            self._active_tasks.touched[uid] = active
            active.changed().alert(rows.alert(active.task, "unserved", message, now, step=key, agent=agent))

    def _late(self, active: ActiveTask, reply: Reply, now: float) -> None:
        if reply.outcome is DEFERRED:
            return  # It holds no outcome: the step may have been finished from outside already.
        kept = active.kept = active.kept or KeptSteps()
        given_up = next((s for s in _asked_so(active, kept, reply) if _is_answered_by(s, reply)), None)
        if given_up is not None:
            self._answer_late(active, given_up, reply, now)
            return
        aside = kept.set_aside.find(active.set_aside, reply.run, reply.key)
        if reply.outcome is OUTCOME_COMPLETED and any(_is_denied(s, reply) for s in aside):
            denied_effect(active, reply, now)
        audit = Audit(at=now, actor="agent", act="late_reply", task=reply.task, step=reply.key, after=reply.outcome)
        active.changed().audit(audit)

    def _answer_late(self, active: ActiveTask, step: Step, reply: Reply, now: float) -> None:
        """Give a step that is not awaited, or is undone, its reply; if that cannot be read, the doubt stays."""
        settled = self._failed(active, step, reply, now) if reply.outcome in NEGATIVE else reply
        if not is_unreadable(settled):
            self._undo.resolve(active, step, settled, now)

    def _gave_up(self, active: ActiveTask, step: Step, reply: Reply, now: float) -> None:
        """The Agent got nowhere: the attempt is the Supervisor's to judge at once."""
        active.changed().watch(rows.watch(step, now, reply))
        step.watched, step.complete_by = True, now
        step.error, step.in_doubt = reply.error, reply.maybe_done
        self._windows.free(step)

    def _deferred(self, active: ActiveTask, step: Step, now: float) -> None:
        """The Agent has done its part: the step is finished from outside, or the Supervisor judges it in time."""
        step.watched, step.deferred_at, active.defers = True, now, True
        active.changed().watch(rows.watch(step, step.complete_by or 0.0))
        self._windows.free(step)

    def _failed(self, active: ActiveTask, step: Step, reply: Reply, now: float) -> Reply:
        """A failed attempt as it is recorded, with its log event, and an alert if its reply cannot be read."""
        reply = rows.settled(step, reply)
        _emit_failure(self._observers, active.task, step, reply)
        if is_unreadable(reply):
            active.changed().alert(_unreadable_alert(active.task, step, reply, now))
        return reply

    def _due(self, active: ActiveTask, now: float) -> None:
        self._forward.due(active, now)
        for step in [s for s in active.open.values() if s.state is StepState.TO_REPEAT]:
            if step.repeat_at is None or active.leaving or not active.may_start(step):
                continue
            if step.repeat_at <= now:
                self._starts.ask(active, step, now)
            else:
                self._timers.at(step.repeat_at, active.task.uid)


def _asked_so(active: ActiveTask, kept: KeptSteps, reply: Reply) -> Iterator[Step]:
    """The steps that are not awaited, or are undone, and were requested as what the reply answers."""
    run, key = reply.run, reply.key
    yield from kept.abandoned.find(active.abandoned, run, key)
    yield from kept.set_aside.find(active.set_aside, run, key)
    yield from kept.undone.find(active.steps, run, key)


def _is_denied(step: Step, reply: Reply) -> bool:
    """Whether a repair recorded that this attempt did not happen."""
    is_its = (step.run, asked_as(step), step.attempt) == (reply.run, reply.key, reply.attempt)
    return is_its and step.state is StepState.FAILED and not step.in_doubt and step.output is None


def _is_answered_by(step: Step, reply: Reply) -> bool:
    """Whether this reply is the first to a step that is not awaited, or that is undone.

    Once its Agent gave up, or stopped, a step that is not awaited can act no more.
    """
    if (step.run, asked_as(step), step.attempt) != (reply.run, reply.key, reply.attempt):
        return False
    if step.state is StepState.UNDONE:
        return step.output is None and reply.outcome is not GAVE_UP
    return step.state is StepState.ABANDONED and step.finished_at is None


def _emit_failure(observers: Observers, task: Task, step: Step, reply: Reply) -> None:
    """The event of a failed attempt: ``step.failed``, or ``step.gave_up`` where another attempt may follow."""
    if not observers.listening:
        return
    error = failures.read(reply.error)
    observers.emit(
        f"step.{reply.outcome}",
        task=task.id,
        step=step.key,
        agent=step.agent,
        attempt=step.attempt,
        type=error.get("type"),
        error=error.get("message"),
        at=error.get("at"),
        maybe_done=reply.maybe_done,
        traceback=error.get("traceback"),
    )


def _unreadable_alert(task: Task, step: Step, reply: Reply, now: float) -> Alert:
    """The alert about an Agent that sent what cannot be recorded."""
    message = failures.read(reply.error).get("message", "")
    return rows.alert(
        task,
        "unreadable_reply",
        f"{task.id}: {message}; look at Agent {step.agent}",
        now,
        step=step.key,
        agent=step.agent,
        attempt=step.attempt,
    )
