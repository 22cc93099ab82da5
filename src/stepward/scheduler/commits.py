"""Committing a turn: in bounded transactions, again and again while the store is away, never assuming an outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator

from stepward.clock import no_failpoint
from stepward.errors import StoreUnavailable
from stepward.policies import grown
from stepward.scheduler.context import SchedulerContext
from stepward.scheduler.failpoints import crash_points
from stepward.scheduler.tasks.active_task import ActiveTask
from stepward.store.contract import Change

FIRST_DELAY = 0.05
LONGEST_DELAY = 1.0
RENEWALS_PER_LEASE = 3
MOST = 3
"""Changes that may miss in a row."""
UNAVAILABLE = "the store is unavailable: "
"""How the reason starts for a submission that could not be written."""


class Commits:
    """Carries changes into the store; a busy instance's lease is renewed on the way."""

    def __init__(self, context: SchedulerContext) -> None:
        self._store = context.store
        self._settings = context.settings
        self._environment = context.environment
        self._observers = context.observers
        self._instance = context.instance
        self._has_failpoint = context.environment.failpoint is not no_failpoint
        self._renew_at = context.store.now()

    async def commit(self, touched: list[ActiveTask]) -> dict[str, str]:
        """Commit the changes of all these residents; uids that missed, with the reason.

        Raises InstanceFenced or CommitUnknown: then nothing of this memory may be used any more.
        """
        missed: dict[str, str] = {}
        changes = [active.change for active in touched if active.change is not None]
        for batch in self._batches(changes):
            missed |= await self._commit(batch)
        return missed

    async def _commit(self, changes: list[Change]) -> dict[str, str]:
        passed = crash_points(changes) if self._has_failpoint else []
        for name in passed:
            self._environment.failpoint(f"{name}.before")
        missed = await self._until_done(changes)
        for name in passed:
            self._environment.failpoint(f"{name}.after")
        return missed

    async def _until_done(self, changes: list[Change]) -> dict[str, str]:
        failures = 0
        refused: dict[str, str] = {}
        while changes or not failures:
            now = self._store.now()
            renew = self._settings.lease if now >= self._renew_at else None
            try:
                committed = await self._store.commit(self._instance, changes, renew)
            except StoreUnavailable as error:
                failures += 1
                # Whoever submits is there to be told; what is under way waits for the store.
                refused |= {change.task: UNAVAILABLE + str(error) for change in changes if change.born}
                changes = [change for change in changes if change.born is None]
                self._observers.tell("store.unavailable", error=str(error), tries=failures)
                await asyncio.sleep(grown(FIRST_DELAY, 2.0, LONGEST_DELAY, failures))
                continue
            if renew is not None:
                self._renew_at = now + self._settings.lease / RENEWALS_PER_LEASE
            return refused | committed.missed
        return refused

    def _batches(self, changes: list[Change]) -> Iterator[list[Change]]:
        """Whole changes, about ``commit_rows`` rows a transaction."""
        batch: list[Change] = []
        rows = 0
        for change in changes:
            batch.append(change)
            rows += len(change.inserts) + len(change.finishes) + 1
            if change.children or change.fills:
                rows += len(change.children) + len(change.fills)
            if change.plans:
                rows += sum(map(change.stages_of, change.begun))
            if rows >= self._settings.commit_rows:
                yield batch
                batch, rows = [], 0
        if batch:
            yield batch


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
        return reason if count >= MOST else None
