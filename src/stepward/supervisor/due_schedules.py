"""Recurring tasks that are due: the tasks of the nominal times that have passed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from stepward.errors import DeclarationError
from stepward.events import Observers
from stepward.model.schedule import Schedule
from stepward.model.schedule_overlap import Overlap
from stepward.schedules.nominal_times import delay_of, due_times, tasks_of
from stepward.store.contract import Firing, SupervisorStore

MOST = 1000
"""Recurring tasks of one pass."""
IN_ONE_COMMIT = 64
"""Schedules and tasks together after which a commit takes no more."""
WAITS = (Overlap.BUFFER, Overlap.BUFFER_ONE)
"""The policies under which a task starts late because the one before it was at work."""


class LateStart(NamedTuple):
    """A nominal time that passed without a start for longer than is allowed."""

    schedule: str
    nominal_at: float
    late_by: float
    """Seconds."""


class DueSchedules:
    """Fires recurring tasks for a Supervisor."""

    def __init__(
        self, store: SupervisorStore, observers: Observers, new_uid: Callable[[], str], *, allowed: float | None
    ) -> None:
        """``allowed`` is how many seconds late a start may be; None if that is no matter."""
        self._store = store
        self._observers = observers
        self._new_uid = new_uid
        self._allowed = allowed
        self._late: dict[str, LateStart] = {}

    async def fire(self, term: int) -> int:
        """Submit what is due; how many tasks."""
        fired = size = 0
        batch: list[Firing] = []
        for schedule in await self._store.due_schedules(MOST):
            firing = self._firing(schedule, self._store.now())
            if firing is None:
                continue
            batch.append(firing)
            size += 1 + len(firing.tasks)
            if size >= IN_ONE_COMMIT:
                fired += await self._fire(term, batch)
                batch, size = [], 0
        return fired + (await self._fire(term, batch) if batch else 0)

    def _firing(self, schedule: Schedule, now: float) -> Firing | None:
        self._note_late(schedule, now)
        try:
            times, next_at = due_times(schedule, now)
        except DeclarationError as error:
            # Written by a newer program; the others continue.
            self._observers.emit("schedule.unreadable", schedule=schedule.name, error=str(error))
            return None
        return Firing(schedule, tasks_of(schedule, times, now, self._new_uid), next_at)

    async def _fire(self, term: int, batch: Sequence[Firing]) -> int:
        """Submit the tasks of a batch in one commit; how many."""
        fired = 0
        for firing, started in zip(batch, await self._store.fire(term, batch), strict=True):
            if started is not None:
                fired += started
                self._observers.emit("schedule.fired", schedule=firing.schedule.name, tasks=started)
        return fired

    def late(self) -> list[LateStart]:
        """The late starts since the last call, one for each schedule."""
        late, self._late = list(self._late.values()), {}
        return late

    def _note_late(self, schedule: Schedule, now: float) -> None:
        nominal_at = schedule.next_at
        if self._allowed is None or nominal_at is None or schedule.overlap in WAITS:
            return
        late_by = now - nominal_at - delay_of(schedule, nominal_at)
        if late_by > self._allowed:
            self._late.setdefault(schedule.name, LateStart(schedule.name, nominal_at, late_by))
