"""Taking free tasks into memory: as many as there is room for, and where there is none, those that deserve some."""

from __future__ import annotations

import asyncio
from itertools import islice

from stepward.model.records import History
from stepward.scheduler.admission.windows import Windows
from stepward.scheduler.context import SchedulerContext
from stepward.scheduler.preemption import overtaken, overtakers
from stepward.scheduler.tasks.records.loading import TaskLoader
from stepward.scheduler.tasks.task_cache import ActiveTasks
from stepward.scheduler.tasks.transitions import Transitions
from stepward.scheduler.turn_budget import TURN_BYTES
from stepward.store.contract import Least

OVERTAKE_EVERY = 0.05
"""Seconds between two looks of a full Scheduler for what deserves its room more."""


FIRST_CLAIM, LEAST_CLAIM, MOST_CLAIM = 64, 4, 512
"""How many tasks are claimed at once: at first, where they are large, and where they are not."""
ADMITTED_AT_ONCE = 64
"""Most claimed tasks that are taken into memory before the event loop runs."""


class Claiming:
    """Knows whether free tasks wait, and claims them for a Scheduler."""

    def __init__(
        self,
        context: SchedulerContext,
        active_tasks: ActiveTasks,
        loader: TaskLoader,
        ends: Transitions,
        windows: Windows,
    ) -> None:
        self._store = context.store
        self._active_tasks = active_tasks
        self._loader = loader
        self._ends = ends
        self._windows = windows
        self._environment = context.environment
        self._observers = context.observers
        self._instance = context.instance
        self._settings = context.settings
        self._served = list(context.registry.workflows)
        self.free_at: float | None = None
        """When the next free task is due, as far as is known; None: there is nothing to claim."""
        self._overtakes_at: float | None = None
        """When a full Scheduler looks for what deserves its room more; None: not before something changes."""
        self._overtook_at = 0.0
        self._is_over = False
        self._size = FIRST_CLAIM
        """How many tasks the next claim takes at most; it depends on how large the last ones were."""
        self.is_behind = False
        """Whether free tasks wait for room here: new ones wait behind them."""
        self.has_rates = False
        """Whether tasks may wait for the rate of their workflow: a claim may have begun such a wait."""

    async def look(self) -> None:
        """Checks whether there are free tasks."""
        free_at = None if self._is_over else await self._store.next_wake()
        # It may have been stopped meanwhile.
        self.free_at = None if self._is_over else free_at
        self.is_behind &= self.free_at is not None
        self._overtakes_at = self._overtook_at + OVERTAKE_EVERY

    def stop(self) -> None:
        """Claim nothing more."""
        self._is_over = True
        self.free_at, self.is_behind = None, False

    async def claim(self, room: int, now: float) -> None:
        """Take up what is free and due, if there is any."""
        self.is_behind = self.free_at is not None and self.free_at <= now
        if not self.is_behind:
            return
        if room > 0:
            await self._fill(min(room, self._size), now)
        elif self._overtakes_at is not None and self._overtakes_at <= now:
            await self._overtake(now)

    def next_look(self, room: int) -> float | None:
        """When there is something to be done here without anything else happening."""
        if self.free_at is None or room > 0:
            return self.free_at
        return None if self._overtakes_at is None else max(self.free_at, self._overtakes_at)

    async def _fill(self, limit: int, now: float) -> None:
        histories = await self._claim(limit, None)
        size = 0
        for count, history in enumerate(histories, 1):
            size += self._loader.admit(history, now).bytes
            if not count % ADMITTED_AT_ONCE:
                await asyncio.sleep(0)
        self._size = _next_size(len(histories), size)
        if len(histories) < limit:
            self._size = FIRST_CLAIM
            # A task that is not served here stays free; the poll, not this turn, looks again.
            self.free_at = await self._store.next_start() if self.has_rates else None
            self.is_behind = False

    async def _overtake(self, now: float) -> None:
        """Let tasks that wait for room go for as many that deserve it more."""
        self._overtook_at, self._overtakes_at = now, None
        lowest = self._windows.lowest
        if lowest is None:
            return
        crowd = self._windows.crowd(lowest)
        least, most = overtakers(lowest, crowd)
        waiting = list(islice(overtaken(lowest, crowd, self._windows, self._active_tasks.tasks), most))
        histories = await self._claim(len(waiting), least) if waiting else []
        for active, _ in zip(waiting, histories, strict=False):
            self._ends.displaced(active, now)
            self._active_tasks.touched[active.task.uid] = active
        for history in histories:
            self._loader.admit(history, now)
        if histories:
            self._overtakes_at = now + OVERTAKE_EVERY
            self._observers.emit("turn.overtaken", tasks=len(histories))

    async def _claim(self, limit: int, least: Least | None) -> list[History]:
        self._environment.failpoint("turn.claim.before")
        histories = await self._store.claim(self._instance, self._served, limit, least)
        self._environment.failpoint("turn.claim.after")
        return histories


def _next_size(claimed: int, size: int) -> int:
    """How many tasks of that mean size a turn takes in."""
    mean = size / claimed if claimed else 0.0
    return max(LEAST_CLAIM, min(MOST_CLAIM, int(TURN_BYTES / (mean + 1))))
