"""Recurring tasks that are due: the tasks of the nominal times that have passed."""

from __future__ import annotations

from collections.abc import Callable

from stepward.errors import DeclarationError
from stepward.events import Observers
from stepward.schedules.nominal_times import due_times, tasks_of
from stepward.store.contract import SupervisorStore

MOST = 1000
"""Recurring tasks of one pass."""


class DueSchedules:
    """Fires recurring tasks for a Supervisor."""

    def __init__(self, store: SupervisorStore, observers: Observers, new_uid: Callable[[], str]) -> None:
        self._store = store
        self._observers = observers
        self._new_uid = new_uid

    async def fire(self, term: int) -> int:
        """Submit what is due; how many tasks."""
        fired = 0
        for schedule in await self._store.due_schedules(MOST):
            now = self._store.now()
            try:
                times, next_at = due_times(schedule, now)
            except DeclarationError as error:
                # Written by a newer program; the others continue.
                self._observers.emit("schedule.unreadable", schedule=schedule.name, error=str(error))
                continue
            tasks = tasks_of(schedule, times, now, self._new_uid)
            started = await self._store.fire(term, schedule, tasks, next_at)
            if started is not None:
                fired += started
                self._observers.emit("schedule.fired", schedule=schedule.name, tasks=started)
        return fired
