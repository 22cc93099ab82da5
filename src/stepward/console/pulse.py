"""Tells the pages that are looked at that the store has changed: one look for all of them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from stepward.store.contract import HostStore

LOOK_SECONDS = 1.0
"""Seconds between two looks at a store that sends no word."""
LEAST_SECONDS = 2.0
"""Least seconds between two pieces of news: a busy store would have every page drawn all the time."""
BEAT_SECONDS = 4.0
"""Seconds between two signs of life to a page without news, and between two checks that it may go on."""


class Pulse:
    """Looks whether the store has changed, as long as a page listens."""

    def __init__(self) -> None:
        self._number = 0
        self._listeners = 0
        self._changed = asyncio.Event()
        self._watching: asyncio.Task[None] | None = None

    async def news(self, store: HostStore) -> AsyncIterator[int | None]:
        """A number for each piece of news, None as a sign of life."""
        self._listeners += 1
        try:
            if self._watching is None or self._watching.done():
                self._watching = asyncio.get_running_loop().create_task(self._watch(store))
            seen = self._number
            while True:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(BEAT_SECONDS):
                        await self._changed.wait()
                yield None if seen == self._number else self._number
                seen = self._number
        finally:
            self._listeners -= 1

    async def _watch(self, store: HostStore) -> None:
        while self._listeners:
            await store.stirred(LOOK_SECONDS)
            if store.changed():
                self._number += 1
                self._changed.set()
                self._changed.clear()
                await asyncio.sleep(LEAST_SECONDS)
