"""What comes in for tasks in memory: replies, inbox rows, instants that are due, room for steps that wait."""

from __future__ import annotations

from stepward.model.effects import asked_as
from stepward.model.messages.requests import Outcome, Reply
from stepward.model.records import Audit, InboxKind, InboxRow, Step
from stepward.model.states import StepState
from stepward.scheduler.admission.backlog import BacklogKey
from stepward.scheduler.admission.windows import Windows
from stepward.scheduler.tasks import step_rows as rows
from stepward.scheduler.tasks.active_task import ActiveTask
from stepward.scheduler.tasks.active_tasks import ActiveTasks
from stepward.scheduler.tasks.advance import Advance
from stepward.scheduler.tasks.inbox import Inbox
from stepward.scheduler.tasks.inbox_rows import readable
from stepward.scheduler.tasks.phases import Phase
from stepward.scheduler.tasks.starting import StepStarts
from stepward.scheduler.tasks.timers import TaskTimers
from stepward.scheduler.tasks.transitions import Transitions
from stepward.scheduler.tasks.undo import TaskUndo

STARTABLE = frozenset({StepState.NOT_STARTED, StepState.TO_REPEAT})


class Incoming:
    """Hands what comes in to the tasks that it is for; what breaks on one task is that task's error."""

    def __init__(
        self,
        active_tasks: ActiveTasks,
        forward: Advance,
        undo: TaskUndo,
        ends: Transitions,
        inbox: Inbox,
        windows: Windows,
        timers: TaskTimers,
        starts: StepStarts,
    ) -> None:
        self._active_tasks = active_tasks
        self._forward = forward
        self._undo = undo
        self._ends = ends
        self._inbox = inbox
        self._windows = windows
        self._timers = timers
        self._starts = starts

    def answer(self, reply: Reply, committed_at: float | None, now: float) -> None:
        """Hand a reply to its step; one that nobody waits for changes nothing and is told once."""
        active = self._active_tasks.tasks.get(reply.task)
        if active is None:
            self._active_tasks.strays.append(reply)
            return
        self._active_tasks.touched[reply.task] = active
        step = active.open.get((reply.run, reply.key))
        if active.leaving:
            if committed_at is None:
                active.unheard.append(reply)
        elif step is not None and step.attempt == reply.attempt and step.state is StepState.RUNNING:
            if committed_at is None:
                active.replies.append(reply)
            try:
                self._inbox.answer(active, step, reply, committed_at, now)
            except BaseException as error:
                self._ends.internal(active, error, now)
        else:
            self._late(active, reply, now)

    def hear(self, active: ActiveTask, row: InboxRow, now: float) -> None:
        """Hand a new inbox row to a resident."""
        if row.number <= active.seen or active.leaving:
            return
        active.inbox += 1
        self._active_tasks.touched[active.task.uid] = active
        if row.kind is InboxKind.STEP:
            active.enter(Phase.RELOADING)
            return
        try:
            if readable(active, [row], now) and not self._inbox.direct(active, [row], now):
                self._inbox.hand_over(active, row, now)
        except BaseException as error:
            self._ends.internal(active, error, now)

    def strike(self, now: float) -> None:
        """Do what is due: timers, repeats, and showing unanswered requests to the Supervisor."""
        for uid in self._timers.due(now):
            active = self._active_tasks.tasks.get(uid)
            if active is not None and not active.leaving:
                self._active_tasks.touched[uid] = active
                try:
                    self._due(active, now)
                except BaseException as error:
                    self._ends.internal(active, error, now)
        for uid, step_id, attempt in self._timers.unanswered(now):
            active = self._active_tasks.tasks.get(uid)
            if active is not None and not active.leaving and active.watch(step_id, attempt):
                self._active_tasks.touched[uid] = active

    def make_room(self, now: float) -> None:
        """Start waiting steps for which there is room."""
        for place in self._windows.ready():
            self._start_waiting(place, now)

    def tell_starved(self, now: float) -> None:
        """Alert an operator, once, of steps that wait for an Agent which no live instance offers."""
        for agent, (uid, _, key) in self._windows.starved(now):
            active = self._active_tasks.tasks.get(uid)
            if active is not None and not active.leaving:
                message = f"{key} and others wait for Agent {agent}, which no live instance offers; start one"
                self._active_tasks.touched[uid] = active
                active.changed().alert(rows.alert(active.task, "unserved", message, now, step=key, agent=agent))

    def _late(self, active: ActiveTask, reply: Reply, now: float) -> None:
        if reply.outcome is Outcome.DEFERRED:
            return  # It says nothing of an outcome: somebody may have been quicker to finish the step.
        kept = (*active.abandoned, *active.set_aside, *active.steps)
        given_up = next((s for s in kept if _is_answered_by(s, reply)), None)
        if given_up is not None:
            self._inbox.late(active, given_up, reply, now)
            return
        if reply.outcome is Outcome.COMPLETED and any(_is_denied(s, reply) for s in active.set_aside):
            self._undo.denied(active, reply, now)
        audit = Audit(at=now, actor="agent", act="late_reply", task=reply.task, step=reply.key, after=reply.outcome)
        active.changed().audit(audit)

    def _due(self, active: ActiveTask, now: float) -> None:
        self._forward.due(active, now)
        for step in [s for s in active.open.values() if s.state is StepState.TO_REPEAT]:
            if step.repeat_at is None or active.leaving or not active.may_start(step):
                continue
            if step.repeat_at <= now:
                self._starts.ask(active, step, now)
            else:
                self._timers.at(step.repeat_at, active.task.uid)

    def _start_waiting(self, place: BacklogKey, now: float) -> None:
        uid, run, key = place
        active = self._active_tasks.tasks.get(uid)
        step = active.open.get((run, key)) if active is not None else None
        if active is None or step is None or active.leaving:
            return
        if step.state in STARTABLE and active.may_start(step):
            self._active_tasks.touched[uid] = active
            self._windows.occupy(step)
            self._starts.launch(active, step, now)


def _is_denied(step: Step, reply: Reply) -> bool:
    """Whether a repair recorded that this attempt did not happen."""
    is_its = (step.run, asked_as(step), step.attempt) == (reply.run, reply.key, reply.attempt)
    return is_its and step.state is StepState.FAILED and not step.in_doubt and step.output is None


def _is_answered_by(step: Step, reply: Reply) -> bool:
    """Whether a step that nobody awaits, or that is undone, is first heard of in this reply.

    From an Agent that gave up, or stopped, a step that nobody awaits has nothing to fear any more.
    """
    if (step.run, asked_as(step), step.attempt) != (reply.run, reply.key, reply.attempt):
        return False
    if step.state is StepState.UNDONE:
        return step.output is None and reply.outcome is not Outcome.GAVE_UP
    return step.state is StepState.ABANDONED and step.finished_at is None
