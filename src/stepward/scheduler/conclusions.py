"""What follows from a turn's commit: for the tasks in memory, for those who wait, and for the rest of the process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from stepward.events import Observers
from stepward.model.failures import brief
from stepward.model.records import Task
from stepward.model.states import TASK_ENDS, TaskState
from stepward.scheduler.commits import Misses
from stepward.scheduler.intake import Intake
from stepward.scheduler.local_submissions import LocalSubmissions
from stepward.scheduler.replies import Replies
from stepward.scheduler.tasks.active_task import ActiveTask
from stepward.scheduler.tasks.active_tasks import ActiveTasks
from stepward.scheduler.tasks.closing import Closing
from stepward.scheduler.tasks.phases import Phase
from stepward.store.contract import OVERTAKEN, Change


@dataclass(frozen=True, slots=True)
class Listeners:
    """Who in this process is told of what was committed."""

    ended: Callable[[Task], None]
    """A task has ended."""
    told: Callable[[], None]
    """Status events stand in their queues."""
    gave_up: Callable[[], None]
    """A step waits for the Supervisor's decision."""


class Conclusions:
    """Draws the conclusions of a commit: what it says is durable, or missed and is read anew."""

    def __init__(
        self,
        closing: Closing,
        active_tasks: ActiveTasks,
        replies: Replies,
        local_submissions: LocalSubmissions,
        misses: Misses,
        intake: Intake,
        listeners: Listeners,
        observers: Observers,
    ) -> None:
        self._closing = closing
        self._active_tasks = active_tasks
        self._replies = replies
        self._local_submissions = local_submissions
        self._misses = misses
        self._intake = intake
        self._listeners = listeners
        self._observers = observers

    def draw(self, touched: Sequence[ActiveTask], missed: Mapping[str, str]) -> None:
        """The changes of these tasks are durable but for those that ``missed``, by uid, with the reason."""
        has_told = False
        for active in touched:
            reason = missed.get(active.task.uid)
            if reason is None:
                has_told |= active.change is not None and active.change.telling is not None
                self._conclude(active)
            else:
                self._miss(active, reason)
        self._misses.forget(active.task.uid for active in touched if active.task.uid not in missed)
        if has_told:
            self._listeners.told()

    def _conclude(self, active: ActiveTask) -> None:
        if active.change is not None:
            self._note(active.change, active.task)
        if active.unheard:
            self._replies.again(active.unheard)
        if active.overflow and not active.leaving:
            self._active_tasks.touched[active.task.uid] = active
        self._closing.committed(active)
        if active.leaving:
            self._active_tasks.forget(active)
            if active.task.state in TASK_ENDS:
                self._tell_end(active.task)

    def _note(self, change: Change, task: Task) -> None:
        """What a change that is durable leaves to be done."""
        if change.posts or change.children:
            # No hint tells of what this very connection put into inboxes or began.
            self._intake.is_hinted = True
        if change.watches and any(watch.error is not None for watch in change.watches):
            self._listeners.gave_up()
        if change.born is not None:
            self._local_submissions.done(task)

    def _miss(self, active: ActiveTask, reason: str) -> None:
        self._active_tasks.forget(active)
        if self._local_submissions.missed(active.task, reason):
            active.enter(Phase.RELEASED)
            return
        if reason != OVERTAKEN:
            self._misses.count(active.task.uid, reason)
        self._observers.tell("task.missed", task=active.task.id, reason=reason)
        active.enter(Phase.RELOADING)
        self._replies.again((*active.replies, *active.unheard))

    def _tell_end(self, task: Task) -> None:
        self._listeners.ended(task)
        if self._observers.listening:
            told = brief(task.error) if task.state is TaskState.ERROR else {}
            self._observers.tell(f"task.{task.state}", task=task.id, workflow=task.workflow, **told)
