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
from stepward.scheduler.admission.backlog import Place
from stepward.scheduler.admission.windows import Desk
from stepward.scheduler.dispatch.dispatcher import BESIDE, Dispatcher
from stepward.scheduler.tasks import step_rows as rows
from stepward.scheduler.tasks import task_deadlines
from stepward.scheduler.tasks.active_task import Resident, StepId
from stepward.scheduler.tasks.advance import Forward
from stepward.scheduler.tasks.former_runs import TRIMS, FormerRuns
from stepward.scheduler.tasks.idle_tasks import WaitingRoom
from stepward.scheduler.tasks.inbox import Inbox
from stepward.scheduler.tasks.inbox_rows import readable
from stepward.scheduler.tasks.replay_check import Rehearsal
from stepward.scheduler.tasks.timers import Agenda
from stepward.scheduler.tasks.transitions import Ends
from stepward.scheduler.tasks.undo import Unwinding
from stepward.settings import Settings
from stepward.workflow.registry import Registry

LOCAL_TRANSPORT = "local"
READ_SECONDS = 1.0
"""Within which a task that is read anew is back in memory."""
LEASES_TO_TAKE_OVER = 2
"""Within so many leases a dead owner's tasks are mostly claimed by others."""
STARTABLE = frozenset({StepState.NOT_STARTED, StepState.TO_REPEAT})


class Residence:
    """Knows every resident by uid, and which of them this turn has touched."""

    def __init__(
        self,
        registry: Registry,
        desk: Desk,
        agenda: Agenda,
        dispatcher: Dispatcher,
        settings: Settings,
        observers: Observers,
        failures: FailureConverter,
    ) -> None:
        self._desk = desk
        self._agenda = agenda
        self._dispatcher = dispatcher
        self._ends = Ends(desk, settings)
        self._forward = Forward(registry, desk, settings, self._ends, dispatcher.start, failures)
        self._unwinding = Unwinding(registry, desk, self._ends, self._forward.ask)
        self._runs = FormerRuns(registry)
        self._inbox = Inbox(self._forward, self._unwinding, self._ends, registry, settings, observers)
        self._rehearsal = Rehearsal(registry, observers, enabled=settings.replay_check)
        self.waiting = WaitingRoom(settings)
        self.tasks: dict[str, Resident] = {}
        self.touched: dict[str, Resident] = {}
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
    def active(self) -> int:
        """About how many do not just wait: one Agent that is out of order keeps nobody from the others.

        Neither do undos that somebody outside has to finish, as long as there is memory for them.
        """
        held_up = self._desk.held_up + len(self._for_others) if len(self.tasks) < self._most else 0
        return max(0, len(self.tasks) - len(self.waiting) - len(self._for_children) - held_up)

    def admit(
        self, history: History, now: float, *, is_birth: bool = False, sent: Mapping[StepId, int] | None = None
    ) -> Resident:
        """Take up a task where its record ends: claimed, born, or held here all the while with requests ``sent``."""
        task = history.task
        history = self._runs.in_reach(history)
        resident = self.tasks[task.uid] = self.touched[task.uid] = Resident(task)
        resident.sent.update(sent or {})
        resident.trims = TRIMS
        if is_birth:
            resident.changed().born = task
            self._forward.plan(resident)
            resident.tell_birth(now)
        self._rehearsal.begin(task, history.steps)
        try:
            self._admit(resident, history, now, is_lost=sent is None and self._dies_with_us)
        except BaseException as error:  # what breaks on one task's data is that task's error: the others go on
            self._ends.internal(resident, error, now)
        return resident

    def _admit(self, resident: Resident, history: History, now: float, *, is_lost: bool) -> None:
        task = resident.task
        resident.children = len([s for s in history.steps if s.kind is StepKind.CHILD and s.state is StepState.RUNNING])
        resident.steps = history.steps
        resident.defers = any(step.deferred_at is not None for step in history.steps)
        history = replace(history, inbox=readable(resident, history.inbox, now))
        if self._inbox.direct(resident, history.inbox, now):
            return
        if task.undo_to is not None or self._unwinding.is_to_settle(history, now):
            self._unwinding.admit(resident, history, now)
        else:
            self._forward.admit(resident, history, now)
        for row in history.inbox:
            if resident.diverged:
                self._inbox.keep(resident, row, now)
            elif not resident.leaving and row.kind is not InboxKind.SIGNAL:
                self._inbox.hand_over(resident, row, now)
        if not resident.leaving:
            self._take_over(resident, now, is_lost=is_lost)

    def give_up(self, history: History, reason: str, now: float) -> None:
        """A task whose changes never fit the store is an operator's."""
        resident = Resident(history.task)
        self.tasks[history.task.uid] = self.touched[history.task.uid] = resident
        message = f"its changes were refused again and again: {reason}"
        self._ends.error(resident, rows.error_object(message, "ChangeRefused"), "change_refused", now)

    def answer(self, reply: Reply, committed_at: float | None, now: float) -> None:
        """Hand a reply to its step; one that nobody waits for changes nothing and is told once."""
        resident = self.tasks.get(reply.task)
        if resident is None:
            self.strays.append(reply)
            return
        self.touched[reply.task] = resident
        step = resident.open.get((reply.run, reply.key))
        if resident.leaving:
            if committed_at is None:
                resident.unheard.append(reply)
        elif step is not None and step.attempt == reply.attempt and step.state is StepState.RUNNING:
            if committed_at is None:
                resident.replies.append(reply)
            try:
                self._inbox.answer(resident, step, reply, committed_at, now)
            except BaseException as error:
                self._ends.internal(resident, error, now)
        else:
            self._late(resident, reply, now)

    def hear(self, resident: Resident, row: InboxRow, now: float) -> None:
        """Hand a new inbox row to a resident."""
        if row.number <= resident.seen or resident.leaving:
            return
        resident.inbox += 1
        self.touched[resident.task.uid] = resident
        if row.kind is InboxKind.STEP:
            resident.leaving = resident.reload = True
            return
        try:
            if readable(resident, [row], now) and not self._inbox.direct(resident, [row], now):
                self._inbox.hand_over(resident, row, now)
        except BaseException as error:
            self._ends.internal(resident, error, now)

    def strike(self, now: float) -> None:
        """Do what is due: timers, repeats, and showing unanswered requests to the Supervisor."""
        for uid in self._agenda.due(now):
            resident = self.tasks.get(uid)
            if resident is not None and not resident.leaving:
                self.touched[uid] = resident
                try:
                    self._due(resident, now)
                except BaseException as error:
                    self._ends.internal(resident, error, now)
        for uid, step_id, attempt in self._agenda.unanswered(now):
            resident = self.tasks.get(uid)
            if resident is not None and not resident.leaving:
                self._watch(resident, step_id, attempt)

    def make_room(self, now: float) -> None:
        """Start waiting steps for which there is room."""
        for place in self._desk.ready():
            self._start_waiting(place, now)

    def tell_starved(self, now: float) -> None:
        """Alert an operator, once, of steps that wait for an Agent which no live instance offers."""
        for agent, (uid, _, key) in self._desk.starved(now):
            resident = self.tasks.get(uid)
            if resident is not None and not resident.leaving:
                message = f"{key} and others wait for Agent {agent}, which no live instance offers; start one"
                self.touched[uid] = resident
                resident.changed().alert(rows.alert(resident.task, "unserved", message, now, step=key, agent=agent))

    def close(self, now: float) -> None:
        """Give every touched task its face for this turn's commit."""
        for resident in list(self.touched.values()):
            if not resident.leaving:
                try:
                    self._close(resident, now)
                    task_deadlines.bound(resident, now)
                except BaseException as error:
                    self._ends.internal(resident, error, now)
            if resident.task.run > 1:
                self._runs.trim(resident)
            if resident.revoked:
                self._dispatcher.revoke(resident.revoked)
                resident.revoked = []

    def evict(self, now: float) -> None:
        """Let go of tasks that have waited long, or that are too many."""
        for resident in self.waiting.to_let_go(now):
            self._ends.evicted(resident, now)
            self.touched[resident.task.uid] = resident

    def displace(self, resident: Resident, now: float) -> None:
        """Let go of a task that only waits for room, in favour of another."""
        self._ends.displaced(resident, now)
        self.touched[resident.task.uid] = resident

    def forget(self, resident: Resident) -> None:
        """Drop a task from memory; its coroutines end without deciding anything."""
        uid = resident.task.uid
        self._rehearsal.end(resident)
        self.tasks.pop(uid, None)
        self.waiting.leave(resident)
        self._agenda.leave(uid)
        self._for_children.discard(uid)
        self._for_others.discard(uid)
        for step in resident.open.values():
            self._desk.free(step)
        if resident.execution is not None:
            resident.execution.discard()

    def forget_all(self) -> None:
        """Drop every task: this instance is over."""
        for resident in list(self.tasks.values()):
            self.forget(resident)
        self.touched.clear()

    def committed(self, resident: Resident) -> None:
        """The resident's change is durable: its memory now says what the row says."""
        change = resident.change
        resident.change = None
        resident.replies.clear()
        resident.fresh.clear()
        resident.mended = False
        if change is None:
            return
        # Not before: read anew after a change that missed, an answered step runs, and is not to be asked for again.
        for finish in change.finishes:
            resident.sent.pop((finish.run, finish.key), None)
        if change.telling is not None:
            resident.task.events += len(change.telling.bodies)
        if self._rehearsal.is_enabled:
            self._rehearsal.note(change)
        if change.complete_by is not None:
            resident.task.complete_by = change.complete_by
        if change.move is None:
            return
        move, task = change.move, resident.task
        task.complete_by = move.complete_by
        continued = move.run is not None
        task.state, task.output, task.error = move.after, move.output, move.error
        task.undo_to, task.waits_for, task.wake_at = move.undo_to, move.waits_for, move.wake_at
        task.recovery_count = 0 if move.progress else task.recovery_count
        if move.run is not None and move.input is not None:
            task.run, task.input = move.run, move.input
        if continued:
            self._continue(resident, move.at)

    def _continue(self, resident: Resident, now: float) -> None:
        if resident.inbox:
            # Signals that nobody took are still in the inbox: read anew, they reach the next run.
            self.forget(resident)
            resident.reload = True
            return
        if resident.execution is not None:
            resident.execution.discard()
        resident.abandoned.clear()
        resident.steps, resident.set_aside = [], []
        resident.cleaning, resident.next_input = False, None
        resident.bytes = 0
        resident.trims = TRIMS
        self.touched[resident.task.uid] = resident
        try:
            self._forward.restart(resident, now)
        except BaseException as error:
            self._ends.internal(resident, error, now)

    def _late(self, resident: Resident, reply: Reply, now: float) -> None:
        if reply.outcome is Outcome.DEFERRED:
            return  # It says nothing of an outcome: somebody may have been quicker to finish the step.
        kept = (*resident.abandoned, *resident.set_aside, *resident.steps)
        given_up = next((s for s in kept if _is_answered_by(s, reply)), None)
        if given_up is not None:
            self._inbox.late(resident, given_up, reply, now)
            return
        if reply.outcome is Outcome.COMPLETED and any(_is_denied(s, reply) for s in resident.set_aside):
            self._unwinding.denied(resident, reply, now)
        audit = Audit(at=now, actor="agent", act="late_reply", task=reply.task, step=reply.key, after=reply.outcome)
        resident.changed().audit(audit)

    def _take_over(self, resident: Resident, now: float, *, is_lost: bool) -> None:
        """The running row is the outbox: what is not watched goes (again) to its Agent at once, and if all that was
        sent is lost, what is watched too."""
        for step in list(resident.open.values()):
            if (step.run, step.key) in resident.fresh or step.kind is StepKind.CHILD:
                continue
            if not _may_start(resident, step):
                continue
            if step.state is StepState.RUNNING:
                self._resume(resident, step, now, is_lost=is_lost)
            elif step.repeat_at is not None and step.repeat_at > now:
                self._agenda.at(step.repeat_at, resident.task.uid)
            else:
                self._forward.ask(resident, step, now)

    def _resume(self, resident: Resident, step: Step, now: float, *, is_lost: bool) -> None:
        if (step.agent is None and step.kind not in BESIDE) or is_deferred(step):
            return
        self._desk.occupy(step)
        if step.complete_by is not None and step.complete_by <= now:
            if not step.watched:
                self._watch(resident, (step.run, step.key), step.attempt)
        elif self._is_to_leave(resident, step, is_lost=is_lost):
            self._dispatcher.start(resident, step)
        elif not step.watched:
            # Its instant may have passed while the task was being read.
            self._agenda.sent(now, step.task, (step.run, step.key), step.attempt)

    def _is_to_leave(self, resident: Resident, step: Step, *, is_lost: bool) -> bool:
        """Whether what runs is asked for (again): nobody here has done so, or it is lost."""
        if step.kind in BESIDE:
            return not self._dispatcher.is_beside(step)
        if resident.has_sent(step):
            # The loss may have come while the task was read anew.
            return self._dispatcher.was_lost(step, READ_SECONDS)
        return not step.watched or is_lost or self._dispatcher.was_lost(step, self._takeover)

    def _due(self, resident: Resident, now: float) -> None:
        self._forward.due(resident, now)
        for step in [s for s in resident.open.values() if s.state is StepState.TO_REPEAT]:
            if step.repeat_at is None or resident.leaving or not _may_start(resident, step):
                continue
            if step.repeat_at <= now:
                self._forward.ask(resident, step, now)
            else:
                self._agenda.at(step.repeat_at, resident.task.uid)

    def _watch(self, resident: Resident, step_id: StepId, attempt: int) -> None:
        step = resident.open.get(step_id)
        if step is None or step.state is not StepState.RUNNING or step.attempt != attempt or step.watched:
            return
        step.watched = True
        self.touched[resident.task.uid] = resident
        resident.changed().watch(rows.watch(step, step.complete_by or 0.0))

    def _start_waiting(self, place: Place, now: float) -> None:
        uid, run, key = place
        resident = self.tasks.get(uid)
        step = resident.open.get((run, key)) if resident is not None else None
        if resident is None or step is None or resident.leaving:
            return
        if step.state in STARTABLE and _may_start(resident, step):
            self.touched[uid] = resident
            self._desk.occupy(step)
            self._forward.launch(resident, step, now)

    def _close(self, resident: Resident, now: float) -> None:
        execution = resident.execution
        if resident.overflow:
            self._forward.spill(resident, now)
        if resident.refused:
            self._forward.refuse(resident, now)
            if resident.leaving:
                return
        if execution is None or resident.cleaning:
            self.waiting.leave(resident)
            until = self._unwinding.settle(resident, now)
            self._count_children(resident)
            if resident.cleaning and _stays(resident):
                # A row that says it waits would be left by a drain until something comes, and nothing does.
                self._face_at_work(resident, now)
            # An instant that is past is no matter of time any more, but of room.
            if until is not None and until > now:
                self._agenda.at(until, resident.task.uid)
            return
        timer = execution.next_timer
        if timer is not None:
            self._agenda.at(timer, resident.task.uid)
        if _stays(resident):
            self._face(resident, now)

    def _count_children(self, resident: Resident) -> None:
        """Whoever only waits for children leaves their claim room, or they would wait for one another."""
        for waiting, is_one in (
            (self._for_children, resident.only_children_left),
            (self._for_others, resident.only_others_left),
        ):
            if is_one:
                waiting.add(resident.task.uid)
            else:
                waiting.discard(resident.task.uid)

    def _face(self, resident: Resident, now: float) -> None:
        task, execution = resident.task, resident.execution
        if execution is None:
            return
        if not resident.all_wait():
            if resident.waiting_since is not None:
                self.waiting.leave(resident)
            self._face_at_work(resident, now)
            return
        waits_for, until = execution.waits_for, resident.wakes_at
        self.waiting.enter(resident, now)
        if resident.waits_anew(waits_for, until):
            resident.tell(Told.WAITING, now, waits_for=waits_for, until=until)
        is_other = (task.waits_for, task.wake_at) != (waits_for, until)
        if is_other or resident.mended or task.state is not TaskState.WAITING:
            face = {"wake_at": until, "waits_for": waits_for, "complete_by": of_steps(resident.open.values())}
            resident.changed().move = self._ends.move(task, TaskState.WAITING, now, **face)

    def _face_at_work(self, resident: Resident, now: float) -> None:
        task = resident.task
        waited = task.state is TaskState.WAITING or task.waits_for is not None
        if waited or resident.mended or (task.recovery_count and resident.made_progress):
            held_until = task_deadlines.held_until(resident, now)
            resident.changed().move = self._ends.move(task, TaskState.PROCESSING, now, complete_by=held_until)


def _stays(resident: Resident) -> bool:
    """Whether this turn's change moves the task nowhere yet."""
    return not resident.leaving and (resident.change is None or resident.change.move is None)


def _may_start(resident: Resident, step: Step) -> bool:
    """Once undo began, nothing goes forward any more."""
    return resident.execution is not None or step.kind is StepKind.UNDO


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
