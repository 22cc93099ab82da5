"""Deletion of the objects of large payloads: those of deleted tasks at once, and orphans when they are old.

A task is deleted with a note of its uid in the same commit; the objects follow, and then the note goes: a process that
dies at any point leaves the note, or nothing. An orphan was put by a process that died before its commit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from stepward.clock import Environment
from stepward.errors import CommitUnknown, StoreUnavailable
from stepward.events import Observers
from stepward.large_payloads import PayloadKeeper, StoredObject, folder_of
from stepward.large_payloads.claim_check import MESSAGES
from stepward.store.contract import ObjectOwnerStore

LOOK_EVERY = 5.0
"""Seconds between two looks for deleted tasks."""
ROUND_EVERY = 3_600.0
"""Seconds between two rounds over all objects."""
BATCH = 100
"""Deleted tasks of one look, each with a listing."""
FAMILY = 10_000
"""Descendants of a task that a round reads; the objects of a larger family stay until it is deleted."""
MESSAGE_SECONDS = 30 * 86_400.0
"""Seconds for which the payload of a message is kept, which may wait in a broker's queue or as a dead letter."""


class ObjectCleaning:
    """Deletes objects for the Supervisor that leads, beside its passes.

    ``owners`` knows the tasks of every store whose objects stand there, if there are others than ``store``.
    """

    def __init__(
        self,
        store: ObjectOwnerStore,
        keeper: PayloadKeeper,
        *,
        observers: Observers,
        environment: Environment,
        owners: ObjectOwnerStore | None = None,
    ) -> None:
        self._store = store
        self._owners = owners or store
        self._keeper = keeper
        self._objects = keeper.objects
        self._observers = observers
        self._clock = environment.clock
        self._failpoint = environment.failpoint
        self._look_at = self._round_at = 0.0
        self._running: asyncio.Task[None] | None = None

    async def run(self, *, in_background: bool) -> None:
        """Delete what is due, if it is time."""
        now = self._clock.boot()
        if now < self._look_at or (self._running is not None and not self._running.done()):
            return
        self._look_at = now + LOOK_EVERY
        if not in_background:
            await self._delete(now)
        else:
            self._running = asyncio.create_task(self._delete(now))

    async def close(self) -> None:
        """Stop; the next start, or another leader, continues."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    async def _delete(self, now: float) -> None:
        try:
            await self._delete_noted()
            if now >= self._round_at:
                await self._delete_orphans()
                self._round_at = now + ROUND_EVERY
        except (StoreUnavailable, CommitUnknown) as error:
            self._observers.emit("store.unavailable", actor="large_payloads", error=str(error))

    async def _delete_noted(self) -> None:
        while owners := await self._store.deleted_owners(BATCH):
            self._failpoint("objects.delete.before")
            for owner in owners:
                async for page in self._objects.listed(folder_of(owner)):
                    await self._objects.delete([each.name for each in page])
            self._failpoint("objects.delete.after")
            await self._store.forget_owners(owners)

    async def _delete_orphans(self) -> None:
        async for page in self._objects.listed():
            orphans = await self._orphans(page, self._clock.wall())
            await self._objects.delete(orphans)
            if orphans:
                self._observers.emit("large_payloads.orphans_deleted", count=len(orphans))

    async def _orphans(self, page: Sequence[StoredObject], now: float) -> list[str]:
        """The objects of a page that are old and belong to nothing."""
        messages = [each.name for each in page if _is_message(each) and each.modified_at < now - MESSAGE_SECONDS]
        age = self._keeper.orphans_after
        old = [each.name for each in page if not _is_message(each) and each.modified_at < now - age]
        roots = sorted({name.partition("/")[0] for name in old})
        known = await self._owners.known_owners(roots) if roots else set()
        own = {folder_of(root) for root in known}
        doubtful = [name for name in old if name.rpartition("/")[0] not in own]
        return messages + [name for root in roots for name in await self._without_owner(root, doubtful)]

    async def _without_owner(self, root: str, names: Sequence[str]) -> list[str]:
        mine = [name for name in names if name.startswith(f"{root}/")]
        if not mine:
            return []
        family = await self._owners.family(root, FAMILY)
        owned: Callable[[str], bool] = {folder_of(uid) for uid in family}.__contains__
        return [] if len(family) == FAMILY else [name for name in mine if not owned(name.rpartition("/")[0])]


def _is_message(each: StoredObject) -> bool:
    return each.name.startswith(f"{MESSAGES}/")
