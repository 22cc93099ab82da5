"""What Agents tell of their progress, on its way into the store: no change of any task, so it needs no turn."""

from __future__ import annotations

import asyncio

import msgspec

from stepward.errors import Refused, StoreError
from stepward.events import Observers
from stepward.model.current import PROGRESS_BYTES, SHORTEN
from stepward.model.messages.requests import Progress
from stepward.payload import check_size
from stepward.store.contract import SchedulerStore

EVERY = 0.2
"""Seconds between two writes: of what an attempt tells in between, the last stands."""
MOST = 10_000
"""Attempts whose words wait at once; what comes beyond is told again soon."""

ProgressKey = tuple[str, int, str]


class ProgressUpdates:
    """Gathers words and writes them together; one that finds its row busy is tried once more."""

    def __init__(self, store: SchedulerStore, observers: Observers) -> None:
        self._store = store
        self._observers = observers
        self._waiting: dict[ProgressKey, Progress] = {}
        self._tried: dict[ProgressKey, Progress] = {}
        self._writing: asyncio.Task[None] | None = None

    def add(self, word: Progress) -> None:
        """Keep the latest of each step; what is no JSON of that size is told and dropped."""
        place = (word.task, word.run, word.key)
        known = self._waiting.get(place)
        if known is not None and (known.attempt, known.at) >= (word.attempt, word.at):
            return
        if (known is None and len(self._waiting) >= MOST) or not self._is_sound(word):
            return
        self._waiting[place] = word
        if self._writing is None:
            self._writing = asyncio.get_running_loop().create_task(self._keep(), name="scheduler-words")

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
        words, self._waiting = self._waiting, {}
        again, self._tried = self._tried, {}
        try:
            written = await self._store.note_progress(list(words.values()))
        except StoreError as error:
            # A word lost costs nothing but that operators know less.
            self._observers.tell("store.unavailable", error=str(error))
            return
        self._tried = {
            place: word for place, word in words.items() if place not in written and again.get(place) != word
        }
        self._waiting = {**self._tried, **self._waiting}

    def _is_sound(self, word: Progress) -> bool:
        try:
            check_size(word.progress, f"progress of {word.key}", limit=PROGRESS_BYTES, advice=SHORTEN)
            msgspec.json.decode(word.progress)
        except (Refused, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            self._observers.tell("scheduler.not_progress", task_uid=word.task, step=word.key, error=str(error))
            return False
        return True
