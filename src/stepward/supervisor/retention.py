"""Retention: tasks that ended long ago are archived, if configured, and deleted, batch after batch.

It runs beside the Supervisor's passes, so that neither a slow disk nor a long history delays a decision, and pauses
after each batch for as long as the batch took: others have the store at least half of the time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial

from stepward.clock import Clock
from stepward.errors import ArchiveUnavailable, CommitUnknown, StoreUnavailable
from stepward.events import Observers
from stepward.model.records import Alert
from stepward.settings import Settings
from stepward.store.contract import (
    OldRecords,
    Outlived,
    PruningStore,
    Purged,
    RetentionStore,
    RuledRetentionStore,
    SupervisorStore,
)
from stepward.store.search.conditions import Condition
from stepward.store.search.statements import TaskKey
from stepward.supervisor.archives.folder_archive import Archive
from stepward.supervisor.retention_rules import old_tasks

BATCH = 500
TRIES = 3
"""How often in a row a batch may change while it is archived."""
PURGE_EVERY = 60.0
ARCHIVE_EVERY = 3_600.0
"""Longest time between two runs, so that few tasks a day do not make many small files."""
SHARE_OF_RETENTION = 0.1
LONGEST_REST = 1.0
ALERT = "archive"


class Retention:
    """Deletes and archives old tasks for a Supervisor."""

    def __init__(
        self, store: SupervisorStore, *, settings: Settings, observers: Observers, clock: Clock, archive: Archive | None
    ) -> None:
        self._store = store
        self._age = settings.retention
        self._rules = settings.retention_rules or ()
        self._observers = observers
        self._clock = clock
        self._archive = archive
        self._next_at = 0.0
        self._running: asyncio.Task[int] | None = None
        self._reported = ""
        """The last reported error of the archive."""

    async def run(self, term: int, *, in_background: bool) -> int:
        """Delete all that is old, if it is time; how many tasks, zero while that is not known."""
        if self._store.now() < self._next_at or (self._running is not None and not self._running.done()):
            return 0
        if not in_background:
            return await self._delete(term, rests=False)
        self._running = asyncio.create_task(self._beside(term))
        return 0

    @property
    def is_at_work(self) -> bool:
        """Whether tasks are being archived and deleted."""
        return self._running is not None and not self._running.done()

    async def close(self) -> None:
        """Stop; the next start, or another leader, continues."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    async def _beside(self, term: int) -> int:
        try:
            return await self._delete(term, rests=True)
        except (StoreUnavailable, CommitUnknown) as error:
            # A deletion compares with what was read: the next run reads again.
            self._observers.emit("store.unavailable", actor="retention", error=str(error))
        except Exception as error:
            self._observers.emit("supervisor.broke", error=repr(error))
        self._next_at = self._store.now() + PURGE_EVERY
        return 0

    async def _delete(self, term: int, *, rests: bool) -> int:
        total, pause = 0, self._pause()
        before = None if self._age is None else self._store.now() - self._age
        began = self._clock.boot()
        try:
            async for count in self._purging(partial(self._store.purge, term)):
                total += count
                self._emit_purged(count)
                if rests:
                    await asyncio.sleep(min(self._clock.boot() - began, LONGEST_REST))
                began = self._clock.boot()
            async for count in pruning(self._store, self._archive, before, partial(self._store.prune, term)):
                self._observers.emit("records.pruned", count=count)
                if rests:
                    await asyncio.sleep(min(self._clock.boot() - began, LONGEST_REST))
                began = self._clock.boot()
            await self._resolve(term)
        except ArchiveUnavailable as error:
            pause = PURGE_EVERY
            await self._report_unavailable(term, str(error))
        self._next_at = self._store.now() + pause
        return total

    async def _purging(self, purge: Callable[[Sequence[Outlived]], Awaitable[Purged]]) -> AsyncIterator[int]:
        now = self._store.now()
        if self._rules:
            conditions = old_tasks(self._age, self._rules, now)
            async for count in purging_by_rules(self._store, self._archive, conditions, purge):
                yield count
        before = None if self._age is None or self._rules else now - self._age
        async for count in purging(self._store, self._archive, before, purge):
            yield count

    def _pause(self) -> float:
        if self._archive is None or self._age is None:
            return PURGE_EVERY
        return max(PURGE_EVERY, min(ARCHIVE_EVERY, self._age * SHARE_OF_RETENTION))

    def _emit_purged(self, count: int) -> None:
        if count:
            self._observers.emit("tasks.purged", count=count, archived=self._archive is not None)

    async def _resolve(self, term: int) -> None:
        """Resolve the alert, of this process or an earlier one: the archive can be written."""
        self._reported = ""
        if self._archive is not None:
            await self._store.resolve_alert(term, ALERT)

    async def _report_unavailable(self, term: int, message: str) -> None:
        """Raise one alert until it is acknowledged, and emit one line as long as the error is the same."""
        raised = await self._store.raise_alert(term, Alert(kind=ALERT, message=message))
        if raised or message != self._reported:
            self._reported = message
            self._observers.emit("archive.unavailable", error=message)


async def purging(
    store: RetentionStore,
    archive: Archive | None,
    before: float | None,
    purge: Callable[[Sequence[Outlived]], Awaitable[Purged]],
) -> AsyncIterator[int]:
    """Archive and delete the tasks that ended before ``before`` (None: no task), batch after batch; how many each.

    Also deletes once the rows that belong to no task. Raises ArchiveUnavailable.
    """
    changed = 0
    while changed < TRIES:
        batch = [] if before is None else await store.outlived(before, BATCH)
        if batch and archive is not None and not await archive.keep(store, batch):
            changed += 1
            continue
        changed = 0
        purged = await purge(batch)
        yield purged.tasks
        if not purged.more and not (batch and purged.tasks):
            # Nothing is left; or this instance leads no more, or other processes are changing all of it.
            return


async def purging_by_rules(
    store: RuledRetentionStore,
    archive: Archive | None,
    conditions: Sequence[Condition],
    purge: Callable[[Sequence[Outlived]], Awaitable[Purged]],
) -> AsyncIterator[int]:
    """Archive and delete the ended tasks that fulfil one of the conditions, batch after batch; how many each.

    A task that changes meanwhile is left to the next run. Raises ArchiveUnavailable.
    """
    for condition in conditions:
        after: TaskKey | None = None
        while True:
            page = await store.outlived_where(condition, after, BATCH)
            if page.tasks and (archive is None or await archive.keep(store, page.tasks)):
                yield (await purge(page.tasks)).tasks
            after = page.after
            if after is None:
                break


async def pruning(
    store: PruningStore,
    archive: Archive | None,
    before: float | None,
    prune: Callable[[OldRecords], Awaitable[int]],
) -> AsyncIterator[int]:
    """Archive and delete the audit's entries and the acknowledged alerts before ``before``; how many in each batch.

    Without an archive they are kept: nothing else records who acted on a task. Raises ArchiveUnavailable.
    """
    if archive is None or before is None:
        return
    while (records := await store.old_records(before)).acts or records.alerts:
        await archive.keep_records(records)
        count = await prune(records)
        yield count
        if not count:
            return
