"""Progress that Agents report, on its way into the store: no change of any task, so it needs no turn."""

from __future__ import annotations

import asyncio

import msgspec

from stepward.errors import Refused, StoreError
from stepward.events import Observers
from stepward.model.current_step import PROGRESS_BYTES, SHORTEN
from stepward.model.messages.requests import Progress
from stepward.payload import check_size
from stepward.store.contract import SchedulerStore

EVERY = 0.2
"""Seconds between two writes; of the updates of an attempt in between, the last one is written."""
MOST = 10_000
"""Most pending progress updates; more are dropped, the next heartbeat repeats them."""

ProgressKey = tuple[str, int, str]


class ProgressUpdates:
    """Gathers updates and writes them together; one that finds its row busy is tried once more."""

    def __init__(self, store: SchedulerStore, observers: Observers) -> None:
        self._store = store
        self._observers = observers
        self._waiting: dict[ProgressKey, Progress] = {}
        self._tried: dict[ProgressKey, Progress] = {}
        self._writing: asyncio.Task[None] | None = None

    def add(self, update: Progress) -> None:
        """Keep the latest update of each step; one that is no JSON of at most that size is reported and dropped."""
        step = (update.task, update.run, update.key)
        known = self._waiting.get(step)
        if known is not None and (known.attempt, known.at) >= (update.attempt, update.at):
            return
        if (known is None and len(self._waiting) >= MOST) or not self._is_sound(update):
            return
        self._waiting[step] = update
        if self._writing is None:
            self._writing = asyncio.get_running_loop().create_task(self._keep(), name="scheduler-progress")

    async def stop(self) -> None:
        """Write nothing more."""
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.wait([self._writing])

    async def _keep(self) -> None:
        """Write until nothing is left; most Schedulers never begin."""
        try:
            while self._waiting:
                await self._write()
                await asyncio.sleep(EVERY)
        finally:
            self._writing = None

    async def _write(self) -> None:
        updates, self._waiting = self._waiting, {}
        again, self._tried = self._tried, {}
        try:
            written = await self._store.note_progress(list(updates.values()))
        except StoreError as error:
            # A lost update costs nothing but that operators know less.
            self._observers.emit("store.unavailable", error=str(error))
            return
        self._tried = {
            step: update for step, update in updates.items() if step not in written and again.get(step) != update
        }
        self._waiting = {**self._tried, **self._waiting}

    def _is_sound(self, update: Progress) -> bool:
        try:
            check_size(update.progress, f"progress of {update.key}", limit=PROGRESS_BYTES, advice=SHORTEN)
            msgspec.json.decode(update.progress)
        except (Refused, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            self._observers.emit("scheduler.not_progress", task_uid=update.task, step=update.key, error=str(error))
            return False
        return True
