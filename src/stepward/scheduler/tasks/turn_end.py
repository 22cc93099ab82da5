"""The end of a turn for each task that it touched: what the row is to say, and what the commit means for memory."""

from __future__ import annotations

from stepward.model.messages.status_events import StatusEventType
from stepward.model.records import Step
from stepward.model.states import WAITING, TaskState
from stepward.model.tasks.complete_by import is_too_far, latest_end, nearest, of_steps
from stepward.scheduler.tasks.active_task import ActiveTask
from stepward.scheduler.tasks.advance import Advance
from stepward.scheduler.tasks.phases import BY_RECORD, Phase
from stepward.scheduler.tasks.records.former_runs import TRIMS, FormerRuns
from stepward.scheduler.tasks.records.replay_check import ReplayCheck
from stepward.scheduler.tasks.task_cache import ActiveTasks
from stepward.scheduler.tasks.transitions import Transitions
from stepward.scheduler.tasks.undo import TaskUndo
from stepward.scheduler.turn_budget import MOST, TurnBudget
from stepward.store.contract import Change
from stepward.workflow.execution import Execution


class Closing:
    """Completes the changes of touched tasks before their commit, and brings memory up to date after it."""

    def __init__(
        self,
        active_tasks: ActiveTasks,
        forward: Advance,
        undo: TaskUndo,
        ends: Transitions,
        runs: FormerRuns,
        replay_check: ReplayCheck,
        budget: TurnBudget,
    ) -> None:
        self._active_tasks = active_tasks
        self._forward = forward
        self._undo = undo
        self._ends = ends
        self._runs = runs
        self._replay_check = replay_check
        self._budget = budget
        self._timers = active_tasks.timers
        self.is_long = False
        """Whether a task of very many steps was looked at: the event loop is to run before the commit."""

    def evict(self, now: float) -> None:
        """Let go of tasks that have waited long, or that are too many."""
        for active in self._active_tasks.waiting.to_let_go(now, self._budget):
            self._ends.evicted(active, now)
            self._active_tasks.touched[active.task.uid] = active

    def close(self, now: float) -> list[Step]:
        """Give every touched task its face for this turn's commit; the abandoned steps, to be revoked after it."""
        revoked: list[Step] = []
        self.is_long = False
        for active in list(self._active_tasks.touched.values()):
            if not active.leaving:
                try:
                    self._close(active, now)
                    _bound(active, now)
                except BaseException as error:
                    self._ends.internal(active, error, now)
            if active.task.run > 1:
                self._runs.trim(active)
            if active.revoked:
                revoked += active.revoked
                active.revoked = None
        return revoked

    def committed(self, active: ActiveTask) -> None:
        """The task's change is durable: bring its memory to what the row holds."""
        change = active.change
        active.change = None
        active.replies = None
        active.fresh = None
        active.mended = False
        if change is None:
            return
        # Not before: read again after a change that missed, an answered step runs, and is not to be asked for again.
        if change.finishes and active.sent is not None:
            for finish in change.finishes:
                active.sent.pop((finish.run, finish.key), None)
            active.sent = active.sent or None
        if change.status_events is not None:
            active.task.events += len(change.status_events.bodies)
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
        if active.execution is not None:
            active.execution.discard()
        active.abandoned = active.set_aside = ()
        active.steps, active.kept = (), None
        active.next_input = None
        active.bytes = 0
        active.trims = TRIMS
        self._active_tasks.touched[active.task.uid] = active
        try:
            self._forward.begin_run(active, now)
        except BaseException as error:
            self._ends.internal(active, error, now)

    def _close(self, active: ActiveTask, now: float) -> None:
        execution = active.execution
        if active.overflow:
            self._forward.spill(active, now)
        if active.refused:
            self._forward.refuse(active, now)
            if active.leaving:
                return
        if execution is None or active.phase in BY_RECORD:
            self._close_by_record(active, now)
            return
        timer = execution.next_timer
        if timer is not None:
            self._timers.at(timer, active.task.uid)
        if active.change is not None and active.change.move is not None:
            return
        if active.all_wait():
            self._face_waiting(active, execution, now)
            return
        if active.waiting_since is not None:
            self._active_tasks.waiting.leave(active)
        self._face_at_work(active, now)

    def _close_by_record(self, active: ActiveTask, now: float) -> None:
        self._active_tasks.waiting.leave(active)
        until = self._undo.settle(active, now)
        self.is_long |= len(active.steps) > MOST
        self._active_tasks.count_undoing(active)
        is_moved = active.leaving or (active.change is not None and active.change.move is not None)
        if active.phase is Phase.CLEANING and not is_moved:
            # A row that says it waits would be left by a drain until something comes, and nothing does.
            self._face_at_work(active, now)
        # An instant that is past is no matter of time any more, but of room.
        if until is not None and until > now:
            self._timers.at(until, active.task.uid)

    def _face_waiting(self, active: ActiveTask, execution: Execution, now: float) -> None:
        task = active.task
        waits_for, until = execution.waits_for, active.wakes_at
        self._active_tasks.waiting.enter(active, now)
        if active.begins_wait(waits_for, until):
            active.report(StatusEventType.WAITING, now, waits_for=waits_for, until=until)
        is_other = (task.waits_for, task.wake_at) != (waits_for, until)
        if is_other or active.mended or task.state is not WAITING:
            face = {"wake_at": until, "waits_for": waits_for, "complete_by": of_steps(active.open.values())}
            active.changed().move = self._ends.move(task, WAITING, now, **face)

    def _face_at_work(self, active: ActiveTask, now: float) -> None:
        task = active.task
        waited = task.state is WAITING or task.waits_for is not None
        if waited or active.mended or (task.recovery_count and active.made_progress):
            active.changed().move = self._ends.move(task, TaskState.PROCESSING, now, complete_by=active.held_until(now))


def _bound(active: ActiveTask, now: float) -> None:
    """Have this turn's change move the row's complete-by, where the row neither moves anyway nor says enough."""
    task, change = active.task, active.change
    if active.leaving or (change is not None and change.move is not None):
        return
    if not active.is_bound:
        begun, active.is_bound = latest_end(active.open.values()), True
    elif change is None:
        begun = None
    elif not change.fills and not change.dispatches:
        begun = latest_end(change.inserts)
    else:
        begun = _begun_until(active, change)
    if change is not None and change.born is not None:
        task.complete_by = active.held_until(now)
    elif not _is_close_enough(task.complete_by, begun, active, now):
        active.changed().complete_by = of_steps(active.open.values())


def _is_close_enough(written: float | None, begun: float | None, active: ActiveTask, now: float) -> bool:
    """Whether the row says well enough when the steps end, those that begin now by ``begun``."""
    if begun is not None and (written is None or begun > written):
        return False
    if written is None or (begun is not None and begun >= nearest(written, now)):
        return True
    return not is_too_far(written, active.open.values(), now)


def _begun_until(active: ActiveTask, change: Change) -> float | None:
    """The latest end of the steps that this turn begins: of thousands that run, the others were looked at before."""
    started = (active.open.get((start.run, start.key)) for start in change.dispatches)
    return latest_end([*change.inserts, *change.fills, *(step for step in started if step is not None)])
