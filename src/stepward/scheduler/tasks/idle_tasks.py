"""Residents that only wait, longest first: they count against no window, and are let go when they wait long."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from stepward.scheduler.tasks.active_task import ActiveTask
from stepward.settings import Settings

AT_ONCE = 1000
LOOK_AGAIN = 0.25
"""Seconds until the next look when those who may go cannot go yet."""
WAKES_SOON = 1.0
"""A task whose timer is that near (seconds) is not worth letting go."""


class IdleTasks:
    """The waiting residents of a Scheduler, in the order in which they began to wait."""

    def __init__(self, settings: Settings) -> None:
        self._patience = settings.evict_after
        self._room = settings.tasks_in_memory
        self._waiting: dict[str, ActiveTask] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def enter(self, active: ActiveTask, now: float) -> None:
        """The resident waits from now on, unless it does already."""
        if active.waiting_since is None:
            active.waiting_since = now
            self._waiting[active.task.uid] = active

    def leave(self, active: ActiveTask) -> None:
        """The resident waits no more."""
        if active.waiting_since is not None:
            active.waiting_since = None
            self._waiting.pop(active.task.uid, None)

    def to_let_go(self, now: float) -> Iterator[ActiveTask]:
        """Those who have waited long, or are too many."""
        over = len(self._waiting) - self._room
        if self._patience is None and over <= 0:
            return
        for count, active in enumerate(list(islice(self._waiting.values(), AT_ONCE))):
            if count >= over and not self._is_long(active, now):
                return
            if active.change is None and not active.leaving and not _wakes_soon(active, now):
                yield active

    def next_look(self, now: float) -> float | None:
        """When the one who has waited longest may be let go."""
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
