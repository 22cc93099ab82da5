"""Checks for signs of trouble, and keeps one alert open for each as long as it lasts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from stepward.events import Observers
from stepward.model.records import Alert
from stepward.settings import Settings
from stepward.store.contract import Batch, SupervisorStore
from stepward.supervisor.early_warnings import disk
from stepward.supervisor.early_warnings.late_leases import late_leases
from stepward.supervisor.early_warnings.late_schedules import LateStart, late_schedules
from stepward.supervisor.early_warnings.late_tasks import late_tasks
from stepward.supervisor.early_warnings.missing_batch_keys import missing_keys
from stepward.supervisor.early_warnings.partitions_down import partitions_down
from stepward.supervisor.early_warnings.queue_ages import QueueAges, old_heads, old_tasks
from stepward.supervisor.early_warnings.standby_lag import behind
from stepward.supervisor.early_warnings.warning import KINDS

LOOK_EVERY = 2.0
"""Seconds between two looks at leases, which are late for a moment only."""
SLOW_LOOK_EVERY = 10.0
"""Seconds between two looks at everything else: each is several statements, and a Supervisor is mostly idle."""
HOLD_SECONDS = 60.0
"""Seconds for which a sign must be gone before its alert is resolved: a value at its limit raises one alert."""
NEVER_LATE = 2.0
"""A share that nothing reaches."""


class SeenWarning(Struct, frozen=True):
    """A sign of trouble, and when it was seen last."""

    alert: Alert
    seen_at: float


class EarlyWarnings:
    """Checks at intervals, while this Supervisor leads."""

    def __init__(
        self,
        store: SupervisorStore,
        settings: Settings,
        observers: Observers,
        *,
        locked: Callable[[], Sequence[Batch]],
        late_starts: Callable[[], Sequence[LateStart]],
        down: Callable[[], Mapping[str, str]],
    ) -> None:
        """``locked`` gives the batches that wait for a key which this process lacks; ``late_starts`` those of
        schedules since it was last called; ``down`` the other stores that are, by name, and why."""
        self._store = store
        self._locked = locked
        self._late_starts = late_starts
        self._down = down
        self._settings = settings
        self._observers = observers
        self._ages = None if settings.warn_queue_age is None else QueueAges(settings.warn_queue_age)
        self._look_at = self._slow_look_at = 0.0
        self._signs: dict[tuple[str, bytes], SeenWarning] = {}
        """By kind and details."""
        self._kept: tuple[int, frozenset[tuple[str, bytes]]] | None = None
        """The term and the signs whose alerts the store has."""

    async def look(self, term: int) -> None:
        """Raise an alert for each new sign, and resolve those of signs that are gone."""
        now = self._store.now()
        if now < self._look_at:
            return
        self._look_at = now + LOOK_EVERY
        for alert in await self._found(now):
            self._signs[alert.kind, alert.details] = SeenWarning(alert, now)
        self._signs = {key: sign for key, sign in self._signs.items() if now - sign.seen_at < HOLD_SECONDS}
        await self._keep(term)

    async def _found(self, now: float) -> list[Alert]:
        """The signs that last for a moment, and those that cost nothing to see."""
        share = self._settings.warn_lease_at
        late = [] if share is None else await self._store.late_leases(share)
        found = [*late_leases(late, share or NEVER_LATE), *missing_keys(self._locked())]
        found += late_schedules(self._late_starts(), self._settings.warn_schedule_late or 0.0)
        found += partitions_down(self._down())
        if now >= self._slow_look_at:
            self._slow_look_at = now + SLOW_LOOK_EVERY
            found += [*await self._of_work(now), *await self._of_servers()]
        return found

    async def _of_work(self, now: float) -> list[Alert]:
        """The signs in tasks and queues."""
        task_share, limit, ages = self._settings.warn_task_at or NEVER_LATE, self._settings.warn_queue_age, self._ages
        signs = await self._store.early_warnings(task_share, now - (limit or now))
        found = late_tasks(signs.late_tasks, task_share)
        if ages is not None and limit is not None:
            found += old_heads(ages.old_heads(signs, now), limit)
            found += old_tasks(ages.old_tasks(signs.waiting, now), limit)
        return found

    async def _of_servers(self) -> list[Alert]:
        """The signs of disks and standbys."""
        least, most = self._settings.warn_disk_free, self._settings.warn_standby_behind
        found = []
        if least is not None:
            shares = [(folder, disk.free_share(folder)) for folder in disk.folders_of(self._settings)]
            low = [(folder, free) for folder, free in shares if free is not None and free < least]
            found += disk.low_disks(low, least)
        if most is not None:
            found += behind(await self._store.standbys() or [], most)
        return found

    async def _keep(self, term: int) -> None:
        wanted = term, frozenset(self._signs)
        if wanted == self._kept:
            return
        known = self._kept[1] if self._kept is not None and self._kept[0] == term else frozenset[tuple[str, bytes]]()
        # Unknown until the store answers: a commit whose outcome is unknown is repeated.
        self._kept = None
        new = [self._signs[key].alert for key in sorted(wanted[1] - known)]
        lasting = [self._signs[key].alert for key in sorted(wanted[1] & known)]
        kept = await self._store.keep_warnings(term, KINDS, new, lasting)
        self._kept = wanted
        if kept.raised or kept.resolved:
            self._observers.emit("warnings.changed", raised=kept.raised, resolved=kept.resolved)
