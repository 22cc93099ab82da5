"""The cache of tasks in a Scheduler's memory: by uid, those that only wait or are parked, and when each is due."""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from stepward.model.messages.requests import Reply, Request
from stepward.scheduler.admission.windows import Windows
from stepward.scheduler.tasks.active_task import ActiveTask, StepId
from stepward.scheduler.tasks.records.replay_check import ReplayCheck
from stepward.scheduler.turn_budget import MOST, PIECE, TurnBudget
from stepward.settings import Settings

EVICTED_AT_ONCE = 1000
"""Most tasks that are evicted in one turn."""
LOOK_AGAIN = 0.25
"""Seconds until the next look when the tasks to be evicted cannot go yet."""
WAKES_SOON = 1.0
"""Seconds: a task whose timer is due within them is not evicted."""
MISSES = 3
"""Changes of a task that may miss one after the other."""
WATCH_AFTER = 1.0
"""Seconds after its dispatch at which an unanswered request is shown to the Supervisor."""
SPARE = 64
"""Obsolete entries that the heap of timers may hold beyond as many as are valid."""


class ActiveTasks:
    """Every task that is held, those that this turn has touched, and those that are to be read again."""

    def __init__(self, windows: Windows, replay_check: ReplayCheck, settings: Settings) -> None:
        self._windows = windows
        self._replay_check = replay_check
        self.waiting = IdleTasks(settings)
        self.timers = TaskTimers()
        self.tasks: dict[str, ActiveTask] = {}
        self.touched: dict[str, ActiveTask] = {}
        self.reloads: dict[str, Mapping[StepId, int]] = {}
        """The tasks that are to be read again, and which of their requests are out."""
        self.strays: list[Reply] = []
        """Replies for tasks that are not held here."""
        self.closing: list[ActiveTask] = []
        """Forgotten tasks that have coroutines left to be closed, or places in windows to be freed."""
        self._most = settings.tasks_in_memory
        self._for_children: set[str] = set()
        """Tasks that are undoing and wait for nothing but children."""
        self._for_others: set[str] = set()
        """Tasks that are undoing and wait for nothing but a step that is finished from outside."""

    @property
    def busy(self) -> int:
        """About how many do not just wait: an Agent that is out of order holds up no tasks of the others.

        Neither do undos that are finished from outside, as long as there is memory for them.
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
        """Note whether an undoing task only waits: it takes up no room, which its children may need to be claimed."""
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
        self.timers.leave(uid)
        self._for_children.discard(uid)
        self._for_others.discard(uid)
        if not self._leave_some(active):
            self.closing.append(active)

    async def close_forgotten(self) -> None:
        """Close what tasks with very many steps or coroutines left; the event loop runs between parts of them."""
        while self.closing:
            await asyncio.sleep(0)
            if self._leave_some(self.closing[-1]):
                self.closing.pop()

    async def forget_all(self) -> None:
        """Drop every task: this instance is over. The event loop runs between parts of them, until cancelled."""
        try:
            while self.tasks:
                self._forget_some(MOST)
                await asyncio.sleep(0)
            await self.close_forgotten()
        finally:
            self._forget_some(len(self.tasks))
            for active in self.closing:
                if active.execution is not None:
                    active.execution.discard()
            self.closing.clear()
            self.touched.clear()

    def _forget_some(self, most: int) -> None:
        for active in list(islice(self.tasks.values(), most)):
            self.forget(active)

    def _leave_some(self, active: ActiveTask) -> bool:
        """Free places of a forgotten task, and close coroutines of it; whether nothing is left."""
        if len(active.open) > MOST:
            for _ in range(MOST):
                self._windows.free(active.open.popitem()[1])
        else:
            for step in active.open.values():
                self._windows.free(step)
            active.open = {}
        if active.execution is not None and active.execution.discard(MOST):
            active.execution = None
        return active.execution is None and not active.open


class IdleTasks:
    """The tasks that only wait, in the order in which they began to: they take up no room, and are evicted in time."""

    def __init__(self, settings: Settings) -> None:
        self._patience = settings.evict_after
        self._room = settings.tasks_in_memory
        self._waiting: dict[str, ActiveTask] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def enter(self, active: ActiveTask, now: float) -> None:
        """Count the task as waiting from now on, unless it is already."""
        if active.waiting_since is None:
            active.waiting_since = now
            self._waiting[active.task.uid] = active

    def leave(self, active: ActiveTask) -> None:
        """The task waits no more."""
        if active.waiting_since is not None:
            active.waiting_since = None
            self._waiting.pop(active.task.uid, None)

    def to_let_go(self, now: float, budget: TurnBudget) -> Iterator[ActiveTask]:
        """The tasks that have waited for long, or are too many, longest first, as many as the turn has room for."""
        over = len(self._waiting) - self._room
        if self._patience is None and over <= 0:
            return
        given = 0
        for count, active in enumerate(list(islice(self._waiting.values(), EVICTED_AT_ONCE))):
            if count >= over and not self._is_long(active, now):
                return
            if active.change is None and not active.leaving and not _wakes_soon(active, now):
                yield active
                given += 1
                if not given % PIECE and budget.is_spent(given):
                    return

    def next_look(self, now: float) -> float | None:
        """When the task that has waited longest may be evicted."""
        first = next(iter(self._waiting.values()), None)
        if self._patience is None or first is None or first.waiting_since is None:
            return None
        instant = first.waiting_since + self._patience
        return instant if instant > now else now + LOOK_AGAIN

    def _is_long(self, active: ActiveTask, now: float) -> bool:
        since = active.waiting_since
        return self._patience is not None and since is not None and now - since >= self._patience


def _wakes_soon(active: ActiveTask, now: float) -> bool:
    instant = active.wakes_at
    return instant is not None and instant - now < WAKES_SOON


class TaskTimers:
    """One heap for what is due, one queue for what is watched: no timer of the event loop's per task or step."""

    def __init__(self) -> None:
        self._due: list[tuple[float, str]] = []
        self._instants: dict[str, float] = {}
        """The earliest instant of each task; later ones follow from looking then."""
        self._sent: deque[tuple[float, str, StepId, int]] = deque()

    def at(self, instant: float, task: str) -> None:
        """Look at the task again at that instant, or earlier if that was asked for."""
        known = self._instants.get(task)
        if known is None or instant < known:
            self._instants[task] = instant
            heapq.heappush(self._due, (instant, task))

    def leave(self, task: str) -> None:
        """Look at the task no more; what it leaves in the heap goes when due, or when too much has piled up."""
        if self._instants.pop(task, None) is not None and len(self._due) > 2 * len(self._instants) + SPARE:
            self._due = [(instant, task) for task, instant in self._instants.items()]
            heapq.heapify(self._due)

    def sent(self, now: float, task: str, step: StepId, attempt: int) -> None:
        """A request has left; it is due to be watched a second later."""
        self._sent.append((now + WATCH_AFTER, task, step, attempt))

    def sent_all(self, now: float, requests: Iterable[Request]) -> None:
        """These requests have left."""
        due = now + WATCH_AFTER
        self._sent += [(due, each.task, (each.run, each.key), each.attempt) for each in requests]

    def due(self, now: float, budget: TurnBudget) -> Iterator[str]:
        """Tasks to look at now, as many as the turn has room for."""
        given = 0
        while self._due and self._due[0][0] <= now:
            instant, task = heapq.heappop(self._due)
            if self._instants.get(task) == instant:
                del self._instants[task]
                yield task
                given += 1
                if not given % PIECE and budget.is_spent(given):
                    return

    def unanswered(self, now: float, tasks: Mapping[str, ActiveTask]) -> list[tuple[ActiveTask, StepId, int]]:
        """Steps of these tasks whose requests left a second ago, and that have no outcome; at most those of a turn."""
        found: list[tuple[ActiveTask, StepId, int]] = []
        sent, left = self._sent, MOST
        while sent and left and sent[0][0] <= now:
            _, uid, step_id, attempt = sent.popleft()
            active = tasks.get(uid)
            if active is not None and step_id in active.open:
                found.append((active, step_id, attempt))
                left -= 1
        return found

    def next(self) -> float | None:
        """The next instant at which something is due."""
        due = self._due[0][0] if self._due else None
        if self._sent and (due is None or self._sent[0][0] < due):
            return self._sent[0][0]
        return due


class Misses:
    """Counts changes that missed in a row: a task that never fits is brought to an operator instead of spinning.

    A task that was overtaken by its inbox is none of these: it fits once nothing comes in, and an inbox that is full
    takes nothing.
    """

    def __init__(self) -> None:
        self._counts: dict[str, tuple[int, str]] = {}

    def count(self, task: str, reason: str) -> None:
        """The task's change missed once more."""
        self._counts[task] = (self._counts.get(task, (0, ""))[0] + 1, reason)

    def forget(self, tasks: Iterable[str]) -> None:
        """The changes of these tasks were committed."""
        if self._counts:
            for task in tasks:
                self._counts.pop(task, None)

    def exhausted(self, task: str) -> str | None:
        """The last reason, once the task has missed too often."""
        count, reason = self._counts.get(task, (0, ""))
        return reason if count >= MISSES else None
