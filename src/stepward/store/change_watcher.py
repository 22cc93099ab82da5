"""Notices that another process has changed the store, and says so within this one."""

from __future__ import annotations

import asyncio
import logging

from stepward.events import Hints
from stepward.store.contract import HostStore

LOG = logging.getLogger("stepward.store")

EVERY = 0.01
"""Seconds between looks at a store that sends no notifications; a look reads one counter and is no statement."""

AGAIN = 5.0
"""Seconds until the next look after one that failed; meanwhile actors find changes by their own polls."""


class ChangeWatcher:
    """Turns what the store tells of its changes into hints."""

    def __init__(self, store: HostStore, hints: Hints) -> None:
        self._store = store
        self._hints = hints
        self._watching: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to watch."""
        self._watching = asyncio.get_running_loop().create_task(self._watch())

    async def stop(self) -> None:
        """Watch no more."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)

    async def _watch(self) -> None:
        while True:
            try:
                if kinds := self._store.changed():
                    self._hints.hint(kinds)
                await self._store.stirred(EVERY)
            except OSError as error:
                LOG.warning(
                    "expected notifications of changes in the store, found %s; actors poll, and %g seconds from now it "
                    "is tried again",
                    error,
                    AGAIN,
                )
                await asyncio.sleep(AGAIN)
