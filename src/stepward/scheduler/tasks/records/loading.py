"""Takes tasks into memory where their records end: claimed, or read again."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from stepward.model.effects import is_deferred
from stepward.model.records import History, InboxKind, Step
from stepward.model.states import CHILD, RUNNING, UNDO, StepState
from stepward.scheduler.admission.windows import Windows
from stepward.scheduler.context import SchedulerContext
from stepward.scheduler.dispatch.dispatcher import StepStarts
from stepward.scheduler.dispatch.local_steps import BESIDE, LocalSteps
from stepward.scheduler.dispatch.lost_messages import LostMessages
from stepward.scheduler.tasks import step_rows as rows
from stepward.scheduler.tasks.active_task import ActiveTask, StepId
from stepward.scheduler.tasks.advance import Advance
from stepward.scheduler.tasks.inbox import Inbox, readable
from stepward.scheduler.tasks.phases import Phase
from stepward.scheduler.tasks.records.former_runs import TRIMS, FormerRuns
from stepward.scheduler.tasks.records.missing_payloads import unfetched
from stepward.scheduler.tasks.records.replay_check import ReplayCheck
from stepward.scheduler.tasks.task_cache import ActiveTasks
from stepward.scheduler.tasks.transitions import Transitions
from stepward.scheduler.tasks.undo import TaskUndo

LOCAL_TRANSPORT = "local"
READ_SECONDS = 1.0
"""Within which a task that is read again is back in memory."""
LEASES_TO_TAKE_OVER = 2
"""Within so many leases a dead owner's tasks are mostly claimed by others."""


class TaskLoader:
    """Replays records, hands over what stands in their inboxes, and takes over the steps that run."""

    def __init__(
        self,
        active_tasks: ActiveTasks,
        forward: Advance,
        undo: TaskUndo,
        ends: Transitions,
        inbox: Inbox,
        runs: FormerRuns,
        replay_check: ReplayCheck,
        windows: Windows,
        starts: StepStarts,
        local: LocalSteps,
        lost: LostMessages,
        context: SchedulerContext,
    ) -> None:
        self._observers = context.observers
        self._active_tasks = active_tasks
        self._forward = forward
        self._undo = undo
        self._ends = ends
        self._inbox = inbox
        self._runs = runs
        self._replay_check = replay_check
        self._windows = windows
        self._timers = active_tasks.timers
        self._starts = starts
        self._local = local
        self._lost = lost
        self._dies_with_us = context.settings.transport == LOCAL_TRANSPORT
        """Whether requests are gone with the process that sent them."""
        self._takeover = context.settings.lease * LEASES_TO_TAKE_OVER

    def admit(self, history: History, now: float, *, sent: Mapping[StepId, int] | None = None) -> ActiveTask:
        """Take up a task where its record ends: claimed, or held here all the while with requests ``sent``."""
        task = history.task
        history = self._runs.in_reach(history)
        active = ActiveTask(task)
        self._active_tasks.hold(active)
        active.sent = dict(sent) if sent else None
        active.trims = TRIMS
        self._replay_check.begin(task, history.steps)
        try:
            self._admit(active, history, now, is_lost=sent is None and self._dies_with_us)
        except BaseException as error:  # what breaks on one task's data is that task's error: the others go on
            self._ends.internal(active, error, now)
        return active

    def _admit(self, active: ActiveTask, history: History, now: float, *, is_lost: bool) -> None:
        task = active.task
        reason = unfetched(history)
        if reason is not None:
            message = f"expected a record that is whole, found that {reason}; resubmit it then"
            self._ends.error(active, rows.error_object(message, "PayloadMissing"), "task_error", now)
            return
        # Most tasks are claimed before their first step, with nothing in their inboxes.
        if history.steps:
            active.steps = history.steps
            running = [s for s in history.steps if s.kind is CHILD and s.state is RUNNING]
            active.children = len(running)
            active.defers = any(step.deferred_at is not None for step in history.steps)
        if history.inbox:
            history = replace(history, inbox=readable(active, history.inbox, now))
            if self._inbox.direct(active, history.inbox, now):
                return
        if task.undo_to is not None or (history.steps and self._undo.is_to_settle(history, now)):
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
        self._active_tasks.hold(active)
        message = f"its changes were refused again and again: {reason}"
        self._ends.error(active, rows.error_object(message, "ChangeRefused"), "change_refused", now)

    def _take_over(self, active: ActiveTask, now: float, *, is_lost: bool) -> None:
        """The running row is the outbox: what is not watched goes (again) to its Agent at once, and if all that was
        sent is lost, what is watched too."""
        # Those that may start: of a task that is undone there may be tens of thousands of others.
        for step in [step for step in active.open.values() if step.kind is UNDO or active.execution is not None]:
            if (active.fresh and (step.run, step.key) in active.fresh) or step.kind is CHILD:
                continue
            if self._observers.measuring:
                self._measure(step)
            if step.state is StepState.RUNNING:
                self._resume(active, step, now, is_lost=is_lost)
            elif step.repeat_at is not None and step.repeat_at > now:
                self._timers.at(step.repeat_at, active.task.uid)
            else:
                self._starts.ask(active, step, now)

    def _measure(self, step: Step) -> None:
        """Report an attempt that another process, or this one before, began and whose end was not reported."""
        if step.attempt and step.started_at is not None and (step.state is StepState.RUNNING or step.error is None):
            place = step.task, step.run, step.key
            self._observers.measure("attempt.taken_over", place=place, attempt=step.attempt, at=step.started_at)

    def _resume(self, active: ActiveTask, step: Step, now: float, *, is_lost: bool) -> None:
        if (step.agent is None and step.kind not in BESIDE) or is_deferred(step):
            return
        self._windows.occupy(step)
        if step.complete_by is not None and step.complete_by <= now:
            if not step.watched:
                active.watch((step.run, step.key), step.attempt)
        elif self._is_to_leave(active, step, is_lost=is_lost):
            self._starts.resume(active, step)
        elif not step.watched:
            # Its instant may have passed while the task was being read.
            self._timers.sent(now, step.task, (step.run, step.key), step.attempt)

    def _is_to_leave(self, active: ActiveTask, step: Step, *, is_lost: bool) -> bool:
        """Whether a running attempt is to be requested (again): not requested from here yet, or lost."""
        if step.kind in BESIDE:
            return not self._local.is_running(step)
        if active.has_sent(step):
            # The loss may have come while the task was read again.
            return self._lost.was_lost(step, READ_SECONDS)
        return not step.watched or is_lost or self._lost.was_lost(step, self._takeover)
