"""The tasks in a Scheduler's memory, by uid."""

from __future__ import annotations

from collections.abc import Mapping

from stepward.model.messages.requests import Reply
from stepward.scheduler.admission.windows import Windows
from stepward.scheduler.tasks.active_task import ActiveTask, StepId
from stepward.scheduler.tasks.idle_tasks import IdleTasks
from stepward.scheduler.tasks.replay_check import ReplayCheck
from stepward.scheduler.tasks.timers import TaskTimers
from stepward.settings import Settings


class ActiveTasks:
    """Knows every task that is held, which of them this turn has touched, and which are to be read anew."""

    def __init__(self, windows: Windows, timers: TaskTimers, replay_check: ReplayCheck, settings: Settings) -> None:
        self._windows = windows
        self._timers = timers
        self._replay_check = replay_check
        self.waiting = IdleTasks(settings)
        self.tasks: dict[str, ActiveTask] = {}
        self.touched: dict[str, ActiveTask] = {}
        self.reloads: dict[str, Mapping[StepId, int]] = {}
        """The tasks that are to be read anew, and which of their requests are out."""
        self.strays: list[Reply] = []
        """Replies for tasks that are not held here."""
        self._most = settings.tasks_in_memory
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

    def hold(self, active: ActiveTask) -> None:
        """Keep a task in memory; this turn has touched it."""
        self.tasks[active.task.uid] = self.touched[active.task.uid] = active

    def take_touched(self) -> list[ActiveTask]:
        """What this turn has touched, for its commit; what is touched from now on belongs to the next."""
        touched, self.touched = list(self.touched.values()), {}
        return touched

    def count_undoing(self, active: ActiveTask) -> None:
        """Whoever only waits for children leaves their claim room, or they would wait for one another."""
        for waiting, is_one in (
            (self._for_children, active.only_children_left),
            (self._for_others, active.only_others_left),
        ):
            if is_one:
                waiting.add(active.task.uid)
            else:
                waiting.discard(active.task.uid)

    def forget(self, active: ActiveTask) -> None:
        """Drop a task from memory; its coroutines end without deciding anything."""
        uid = active.task.uid
        self._replay_check.end(active)
        self.tasks.pop(uid, None)
        self.waiting.leave(active)
        self._timers.leave(uid)
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
