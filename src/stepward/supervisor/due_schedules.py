"""Recurring tasks that are due: the tasks of the nominal times that have passed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from stepward.error_messages import message_of
from stepward.errors import DeclarationError, StoreError
from stepward.events import Observers
from stepward.model.records import Alert
from stepward.model.schedule import Schedule
from stepward.schedules.nominal_times import due_times, tasks_of
from stepward.store.contract import Firing, SupervisorStore
from stepward.supervisor.early_warnings.late_schedules import LateStart, LateStarts

MOST = 1000
"""Recurring tasks of one pass."""
IN_ONE_COMMIT = 64
"""Schedules and tasks together after which a commit takes no more."""
FAILED_AGAIN = 60.0
"""Seconds until a schedule that could not be fired is tried again."""
FAILED = "schedule_failed"
"""The kind of the alert about such schedules."""
MOST_NAMED = 5
"""Most schedules that the alert's message names; its details name all."""


class FailedFiring(NamedTuple):
    """A schedule that could not be fired, for a reason that is its own."""

    schedule: str
    error: str
    again_at: float


class DueSchedules:
    """Fires recurring tasks for a Supervisor."""

    def __init__(
        self, store: SupervisorStore, observers: Observers, new_uid: Callable[[], str], *, allowed: float | None
    ) -> None:
        """``allowed`` is how many seconds late a start may be; None if that is no matter."""
        self._store = store
        self._observers = observers
        self._new_uid = new_uid
        self._late = LateStarts(allowed)
        self._failed: dict[str, FailedFiring] = {}
        self._reported: list[str] | None = None
        """The failures at the last look; None before the first."""

    async def fire(self, term: int) -> int:
        """Submit what is due; how many tasks."""
        fired = size = 0
        batch: list[Firing] = []
        # Those that failed stay due, and first: however many they are, they keep none behind them from being fired.
        for schedule in await self._store.due_schedules(MOST + len(self._failed)):
            now = self._store.now()
            firing = None if self._has_failed(schedule, now) else self._firing(schedule, now)
            if firing is None:
                continue
            batch.append(firing)
            size += 1 + len(firing.tasks)
            if size >= IN_ONE_COMMIT:
                fired += await self._fire(term, batch)
                batch, size = [], 0
        return fired + (await self._fire(term, batch) if batch else 0)

    def _firing(self, schedule: Schedule, now: float) -> Firing | None:
        self._late.note(schedule, now)
        try:
            times, next_at = due_times(schedule, now)
        except DeclarationError as error:
            # Written by a newer program; the others continue.
            self._observers.emit("schedule.unreadable", schedule=schedule.name, error=str(error))
            return None
        return Firing(schedule, tasks_of(schedule, times, now, self._new_uid), next_at)

    async def _fire(self, term: int, batch: Sequence[Firing]) -> int:
        """Submit the tasks of a batch in one commit; how many. Where that fails, each schedule is fired for itself."""
        try:
            counts = await self._store.fire(term, batch)
        except StoreError:
            raise
        except Exception as error:
            if len(batch) > 1:
                return sum([await self._fire(term, [firing]) for firing in batch])
            self._fail(batch[0].schedule, error)
            return 0
        fired = 0
        for firing, started in zip(batch, counts, strict=True):
            self._failed.pop(firing.schedule.name, None)
            if started is not None:
                fired += started
                self._observers.emit("schedule.fired", schedule=firing.schedule.name, tasks=started)
        return fired

    def _fail(self, schedule: Schedule, error: Exception) -> None:
        message, now = message_of(error), self._store.now()
        self._failed[schedule.name] = FailedFiring(schedule.name, message, now + FAILED_AGAIN)
        self._observers.emit("schedule.failed", schedule=schedule.name, error=message)

    def _has_failed(self, schedule: Schedule, now: float) -> bool:
        """Whether the last try failed just now."""
        failed = self._failed.get(schedule.name)
        return failed is not None and failed.again_at - FAILED_AGAIN <= now < failed.again_at

    async def look(self, term: int) -> None:
        """Raise the alert for schedules that cannot be fired, replace it when they change, and resolve it when each
        is fired."""
        now = self._store.now()
        # One that is still due was tried again: what is older was fired by another, paused, or removed.
        kept = sorted(each for each in self._failed.values() if now < each.again_at + FAILED_AGAIN)
        self._failed = {each.schedule: each for each in kept}
        failed = [f"{each.schedule}: {each.error}" for each in kept]
        if failed == self._reported:
            return
        if (self._reported or not failed) and await self._store.resolve_alert(term, FAILED) and not failed:
            self._observers.emit("schedules.fire_again")
        if failed:
            more = f"; and {len(failed) - MOST_NAMED} more" if len(failed) > MOST_NAMED else ""
            message = f"schedules that cannot be fired: {'; '.join(failed[:MOST_NAMED])}{more}"
            details = msgspec.json.encode([{"schedule": each.schedule, "error": each.error} for each in kept])
            await self._store.raise_alert(term, Alert(kind=FAILED, message=message, details=details))
        self._reported = failed

    def late(self) -> list[LateStart]:
        """The late starts since the last call, one for each schedule."""
        return self._late.taken()
