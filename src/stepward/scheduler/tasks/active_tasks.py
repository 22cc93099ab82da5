"""The tasks in a Scheduler's memory: how they come in, what is handed to them, and when they are let go."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from stepward.events import Observers
from stepward.model.complete_by import of_steps
from stepward.model.effects import asked_as, is_deferred
from stepward.model.failures import FailureConverter
from stepward.model.messages.requests import Outcome, Reply
from stepward.model.messages.status_events import Told
from stepward.model.records import Audit, History, InboxKind, InboxRow, Step
from stepward.model.states import StepKind, StepState, TaskState
from stepward.scheduler.admission.backlog import BacklogKey
from stepward.scheduler.admission.windows import Windows
from stepward.scheduler.dispatch.dispatcher import BESIDE, Dispatcher
from stepward.scheduler.tasks import step_rows as rows
from stepward.scheduler.tasks import task_deadlines
from stepward.scheduler.tasks.active_task import ActiveTask, StepId
from stepward.scheduler.tasks.advance import Advance
from stepward.scheduler.tasks.former_runs import TRIMS, FormerRuns
from stepward.scheduler.tasks.idle_tasks import IdleTasks
from stepward.scheduler.tasks.inbox import Inbox
from stepward.scheduler.tasks.inbox_rows import readable
from stepward.scheduler.tasks.phases import BY_RECORD, Phase
from stepward.scheduler.tasks.replay_check import ReplayCheck
from stepward.scheduler.tasks.timers import TaskTimers
from stepward.scheduler.tasks.transitions import Transitions
from stepward.scheduler.tasks.undo import TaskUndo
from stepward.settings import Settings
from stepward.workflow.registry import Registry

LOCAL_TRANSPORT = "local"
READ_SECONDS = 1.0
"""Within which a task that is read anew is back in memory."""
LEASES_TO_TAKE_OVER = 2
"""Within so many leases a dead owner's tasks are mostly claimed by others."""
STARTABLE = frozenset({StepState.NOT_STARTED, StepState.TO_REPEAT})


class ActiveTasks:
    """Knows every resident by uid, and which of them this turn has touched."""

    def __init__(
        self,
        registry: Registry,
        windows: Windows,
        agenda: TaskTimers,
        dispatcher: Dispatcher,
        settings: Settings,
        observers: Observers,
        failures: FailureConverter,
    ) -> None:
        self._windows = windows
        self._agenda = agenda
        self._dispatcher = dispatcher
        self._ends = Transitions(windows, settings)
        self._forward = Advance(registry, windows, settings, self._ends, dispatcher.start, failures)
        self._undo = TaskUndo(registry, windows, self._ends, self._forward.ask)
        self._runs = FormerRuns(registry)
        self._inbox = Inbox(self._forward, self._undo, self._ends, registry, settings, observers)
        self._replay_check = ReplayCheck(registry, observers, enabled=settings.replay_check)
        self.waiting = IdleTasks(settings)
        self.tasks: dict[str, ActiveTask] = {}
        self.touched: dict[str, ActiveTask] = {}
        self.strays: list[Reply] = []
        """Replies for tasks that are not held here."""
        self._dies_with_us = settings.transport == LOCAL_TRANSPORT
        """Whether requests are gone with the process that sent them."""
        self._most = settings.tasks_in_memory
        self._takeover = settings.lease * LEASES_TO_TAKE_OVER
        self._for_children: set[str] = set()
        """Tasks that are undoing and wait for nothing but children."""
        self._for_others: set[str] = set()
        """Tasks that are undoing and wait for nothing but somebody outside."""

    @property
    def busy(self) -> int:
        """About how many do not just wait: one Agent that is out of order keeps nobody from the others.

        Neither do undos that somebody outside has to finish, as long as there is memory for them.
        """
        held_up = self._windows.held_up + len(self._for_others) if len(self.tasks) < self._most else 0
        return max(0, len(self.tasks) - len(self.waiting) - len(self._for_children) - held_up)

    def admit(
        self, history: History, now: float, *, is_birth: bool = False, sent: Mapping[StepId, int] | None = None
    ) -> ActiveTask:
        """Take up a task where its record ends: claimed, born, or held here all the while with requests ``sent``."""
        task = history.task
        history = self._runs.in_reach(history)
        active = self.tasks[task.uid] = self.touched[task.uid] = ActiveTask(task)
        active.sent.update(sent or {})
        active.trims = TRIMS
        if is_birth:
            active.changed().born = task
            self._forward.plan(active)
            active.tell_birth(now)
        self._replay_check.begin(task, history.steps)
        try:
            self._admit(active, history, now, is_lost=sent is None and self._dies_with_us)
        except BaseException as error:  # what breaks on one task's data is that task's error: the others go on
            self._ends.internal(active, error, now)
        return active

    def _admit(self, active: ActiveTask, history: History, now: float, *, is_lost: bool) -> None:
        task = active.task
        active.children = len([s for s in history.steps if s.kind is StepKind.CHILD and s.state is StepState.RUNNING])
        active.steps = history.steps
        active.defers = any(step.deferred_at is not None for step in history.steps)
        history = replace(history, inbox=readable(active, history.inbox, now))
        if self._inbox.direct(active, history.inbox, now):
            return
        if task.undo_to is not None or self._undo.is_to_settle(history, now):
            self._undo.admit(active, history, now)
        else:
            self._forward.admit(active, history, now)
        for row in history.inbox:
            if active.phase is Phase.STOPPED:
                self._inbox.keep(active, row, now)
            elif not active.leaving and row.kind is not InboxKind.SIGNAL:
                self._inbox.hand_over(active, row, now)
        if not active.leaving:
            self._take_over(active, now, is_lost=is_lost)

    def give_up(self, history: History, reason: str, now: float) -> None:
        """A task whose changes never fit the store is an operator's."""
        active = ActiveTask(history.task)
        self.tasks[history.task.uid] = self.touched[history.task.uid] = active
        message = f"its changes were refused again and again: {reason}"
        self._ends.error(active, rows.error_object(message, "ChangeRefused"), "change_refused", now)

    def answer(self, reply: Reply, committed_at: float | None, now: float) -> None:
        """Hand a reply to its step; one that nobody waits for changes nothing and is told once."""
        active = self.tasks.get(reply.task)
        if active is None:
            self.strays.append(reply)
            return
        self.touched[reply.task] = active
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
        self.touched[active.task.uid] = active
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
        for uid in self._agenda.due(now):
            active = self.tasks.get(uid)
            if active is not None and not active.leaving:
                self.touched[uid] = active
                try:
                    self._due(active, now)
                except BaseException as error:
                    self._ends.internal(active, error, now)
        for uid, step_id, attempt in self._agenda.unanswered(now):
            active = self.tasks.get(uid)
            if active is not None and not active.leaving:
                self._watch(active, step_id, attempt)

    def make_room(self, now: float) -> None:
        """Start waiting steps for which there is room."""
        for place in self._windows.ready():
            self._start_waiting(place, now)

    def tell_starved(self, now: float) -> None:
        """Alert an operator, once, of steps that wait for an Agent which no live instance offers."""
        for agent, (uid, _, key) in self._windows.starved(now):
            active = self.tasks.get(uid)
            if active is not None and not active.leaving:
                message = f"{key} and others wait for Agent {agent}, which no live instance offers; start one"
                self.touched[uid] = active
                active.changed().alert(rows.alert(active.task, "unserved", message, now, step=key, agent=agent))

    def close(self, now: float) -> None:
        """Give every touched task its face for this turn's commit."""
        for active in list(self.touched.values()):
            if not active.leaving:
                try:
                    self._close(active, now)
                    task_deadlines.bound(active, now)
                except BaseException as error:
                    self._ends.internal(active, error, now)
            if active.task.run > 1:
                self._runs.trim(active)
            if active.revoked:
                self._dispatcher.revoke(active.revoked)
                active.revoked = []

    def evict(self, now: float) -> None:
        """Let go of tasks that have waited long, or that are too many."""
        for active in self.waiting.to_let_go(now):
            self._ends.evicted(active, now)
            self.touched[active.task.uid] = active

    def displace(self, active: ActiveTask, now: float) -> None:
        """Let go of a task that only waits for room, in favour of another."""
        self._ends.displaced(active, now)
        self.touched[active.task.uid] = active

    def forget(self, active: ActiveTask) -> None:
        """Drop a task from memory; its coroutines end without deciding anything."""
        uid = active.task.uid
        self._replay_check.end(active)
        self.tasks.pop(uid, None)
        self.waiting.leave(active)
        self._agenda.leave(uid)
        self._for_children.discard(uid)
        self._for_others.discard(uid)
        for step in active.open.values():
            self._windows.free(step)
        if active.execution is not None:
            active.execution.discard()

    def forget_all(self) -> None:
        """Drop every task: this instance is over."""
        for active in list(self.tasks.values()):
            self.forget(active)
        self.touched.clear()

    def committed(self, active: ActiveTask) -> None:
        """The resident's change is durable: its memory now says what the row says."""
        change = active.change
        active.change = None
        active.replies.clear()
        active.fresh.clear()
        active.mended = False
        if change is None:
            return
        # Not before: read anew after a change that missed, an answered step runs, and is not to be asked for again.
        for finish in change.finishes:
            active.sent.pop((finish.run, finish.key), None)
        if change.telling is not None:
            active.task.events += len(change.telling.bodies)
        if self._replay_check.is_enabled:
            self._replay_check.note(change)
        if change.complete_by is not None:
            active.task.complete_by = change.complete_by
        if change.move is None:
            return
        move, task = change.move, active.task
        task.complete_by = move.complete_by
        continued = move.run is not None
        task.state, task.output, task.error = move.after, move.output, move.error
        task.undo_to, task.waits_for, task.wake_at = move.undo_to, move.waits_for, move.wake_at
        task.recovery_count = 0 if move.progress else task.recovery_count
        if move.run is not None and move.input is not None:
            task.run, task.input = move.run, move.input
        if continued:
            self._continue(active, move.at)

    def _continue(self, active: ActiveTask, now: float) -> None:
        if active.inbox:
            # Signals that nobody took are still in the inbox: read anew, they reach the next run.
            active.enter(Phase.RELOADING)
            return
        if active.execution is not None:
            active.execution.discard()
        active.abandoned.clear()
        active.steps, active.set_aside = [], []
        active.next_input = None
        active.bytes = 0
        active.trims = TRIMS
        self.touched[active.task.uid] = active
        try:
            self._forward.restart(active, now)
        except BaseException as error:
            self._ends.internal(active, error, now)

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

    def _take_over(self, active: ActiveTask, now: float, *, is_lost: bool) -> None:
        """The running row is the outbox: what is not watched goes (again) to its Agent at once, and if all that was
        sent is lost, what is watched too."""
        for step in list(active.open.values()):
            if (step.run, step.key) in active.fresh or step.kind is StepKind.CHILD:
                continue
            if not _may_start(active, step):
                continue
            if step.state is StepState.RUNNING:
                self._resume(active, step, now, is_lost=is_lost)
            elif step.repeat_at is not None and step.repeat_at > now:
                self._agenda.at(step.repeat_at, active.task.uid)
            else:
                self._forward.ask(active, step, now)

    def _resume(self, active: ActiveTask, step: Step, now: float, *, is_lost: bool) -> None:
        if (step.agent is None and step.kind not in BESIDE) or is_deferred(step):
            return
        self._windows.occupy(step)
        if step.complete_by is not None and step.complete_by <= now:
            if not step.watched:
                self._watch(active, (step.run, step.key), step.attempt)
        elif self._is_to_leave(active, step, is_lost=is_lost):
            self._dispatcher.start(active, step)
        elif not step.watched:
            # Its instant may have passed while the task was being read.
            self._agenda.sent(now, step.task, (step.run, step.key), step.attempt)

    def _is_to_leave(self, active: ActiveTask, step: Step, *, is_lost: bool) -> bool:
        """Whether what runs is asked for (again): nobody here has done so, or it is lost."""
        if step.kind in BESIDE:
            return not self._dispatcher.is_beside(step)
        if active.has_sent(step):
            # The loss may have come while the task was read anew.
            return self._dispatcher.was_lost(step, READ_SECONDS)
        return not step.watched or is_lost or self._dispatcher.was_lost(step, self._takeover)

    def _due(self, active: ActiveTask, now: float) -> None:
        self._forward.due(active, now)
        for step in [s for s in active.open.values() if s.state is StepState.TO_REPEAT]:
            if step.repeat_at is None or active.leaving or not _may_start(active, step):
                continue
            if step.repeat_at <= now:
                self._forward.ask(active, step, now)
            else:
                self._agenda.at(step.repeat_at, active.task.uid)

    def _watch(self, active: ActiveTask, step_id: StepId, attempt: int) -> None:
        step = active.open.get(step_id)
        if step is None or step.state is not StepState.RUNNING or step.attempt != attempt or step.watched:
            return
        step.watched = True
        self.touched[active.task.uid] = active
        active.changed().watch(rows.watch(step, step.complete_by or 0.0))

    def _start_waiting(self, place: BacklogKey, now: float) -> None:
        uid, run, key = place
        active = self.tasks.get(uid)
        step = active.open.get((run, key)) if active is not None else None
        if active is None or step is None or active.leaving:
            return
        if step.state in STARTABLE and _may_start(active, step):
            self.touched[uid] = active
            self._windows.occupy(step)
            self._forward.launch(active, step, now)

    def _close(self, active: ActiveTask, now: float) -> None:
        execution = active.execution
        if active.overflow:
            self._forward.spill(active, now)
        if active.refused:
            self._forward.refuse(active, now)
            if active.leaving:
                return
        if execution is None or active.phase in BY_RECORD:
            self.waiting.leave(active)
            until = self._undo.settle(active, now)
            self._count_children(active)
            if active.phase is Phase.CLEANING and _stays(active):
                # A row that says it waits would be left by a drain until something comes, and nothing does.
                self._face_at_work(active, now)
            # An instant that is past is no matter of time any more, but of room.
            if until is not None and until > now:
                self._agenda.at(until, active.task.uid)
            return
        timer = execution.next_timer
        if timer is not None:
            self._agenda.at(timer, active.task.uid)
        if _stays(active):
            self._face(active, now)

    def _count_children(self, active: ActiveTask) -> None:
        """Whoever only waits for children leaves their claim room, or they would wait for one another."""
        for waiting, is_one in (
            (self._for_children, active.only_children_left),
            (self._for_others, active.only_others_left),
        ):
            if is_one:
                waiting.add(active.task.uid)
            else:
                waiting.discard(active.task.uid)

    def _face(self, active: ActiveTask, now: float) -> None:
        task, execution = active.task, active.execution
        if execution is None:
            return
        if not active.all_wait():
            if active.waiting_since is not None:
                self.waiting.leave(active)
            self._face_at_work(active, now)
            return
        waits_for, until = execution.waits_for, active.wakes_at
        self.waiting.enter(active, now)
        if active.waits_anew(waits_for, until):
            active.tell(Told.WAITING, now, waits_for=waits_for, until=until)
        is_other = (task.waits_for, task.wake_at) != (waits_for, until)
        if is_other or active.mended or task.state is not TaskState.WAITING:
            face = {"wake_at": until, "waits_for": waits_for, "complete_by": of_steps(active.open.values())}
            active.changed().move = self._ends.move(task, TaskState.WAITING, now, **face)

    def _face_at_work(self, active: ActiveTask, now: float) -> None:
        task = active.task
        waited = task.state is TaskState.WAITING or task.waits_for is not None
        if waited or active.mended or (task.recovery_count and active.made_progress):
            held_until = task_deadlines.held_until(active, now)
            active.changed().move = self._ends.move(task, TaskState.PROCESSING, now, complete_by=held_until)


def _stays(active: ActiveTask) -> bool:
    """Whether this turn's change moves the task nowhere yet."""
    return not active.leaving and (active.change is None or active.change.move is None)


def _may_start(active: ActiveTask, step: Step) -> bool:
    """Once undo began, nothing goes forward any more."""
    return active.execution is not None or step.kind is StepKind.UNDO


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
