"""Deletions on demand, carried on into the archive by the Supervisor that leads.

The audit records the erasure of archived details first, then the files are rewritten, then the note of the task
goes: at any point the chain of the audit verifies, and what is left is done by the next look.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from stepward.clock import Environment
from stepward.errors import ArchiveUnavailable, CommitUnknown, StoreUnavailable
from stepward.events import Observers
from stepward.store.contract import ArchiveErasureStore
from stepward.supervisor.archives.task_removal import acts_on, erase_tasks

LOOK_EVERY = 5.0
"""Seconds between two looks for deleted tasks."""
BATCH = 500
"""Deleted tasks of one look: each look reads every file of the archive."""


class ArchiveErasure:
    """Erases deleted tasks from the archive, beside the Supervisor's passes."""

    def __init__(
        self, store: ArchiveErasureStore, folder: Path, *, observers: Observers, environment: Environment
    ) -> None:
        self._store = store
        self._folder = folder
        self._observers = observers
        self._clock = environment.clock
        self._failpoint = environment.failpoint
        self._look_at = 0.0
        self._is_noted = False
        self._running: asyncio.Task[None] | None = None

    async def run(self, term: int, *, in_background: bool) -> None:
        """Erase what was deleted, if it is time."""
        now = self._clock.boot()
        if now < self._look_at or (self._running is not None and not self._running.done()):
            return
        self._look_at = now + LOOK_EVERY
        if not in_background:
            await self._erase(term)
        else:
            self._running = asyncio.create_task(self._erase(term))

    async def close(self) -> None:
        """Stop; the next start, or another leader, continues."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    async def _erase(self, term: int) -> None:
        try:
            if not self._is_noted:
                await self._store.use_archive()
                self._is_noted = True
            while erased := await self._store.erased_tasks(BATCH):
                tasks = {task.uid: task for task in erased}
                acts = await asyncio.to_thread(acts_on, self._folder, tasks.keys())
                for uid in dict.fromkeys(act.audit.task or "" for act in acts):
                    mine = [act for act in acts if act.audit.task == uid]
                    if not await self._store.erase_archived(term, tasks[uid], mine):
                        return
                files = await asyncio.to_thread(erase_tasks, self._folder, list(tasks), self._failpoint)
                await self._store.forget_erased(list(tasks))
                self._observers.emit("archive.erased", tasks=len(tasks), files=files)
        except ArchiveUnavailable as error:
            self._observers.emit("archive.unavailable", error=str(error))
        except (StoreUnavailable, CommitUnknown) as error:
            self._observers.emit("store.unavailable", actor="archive_erasure", error=str(error))
