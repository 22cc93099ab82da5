"""An event loop whose time stands still while there is work, and then leaps to the next timer."""

from __future__ import annotations

import asyncio
import selectors
from typing import Any
from unittest.mock import patch

from stepward.store import change_watcher
from stepward.store.sqlite.engine.database import Database

START = 1_800_000_000.0
LOOK_SECONDS = 0.05
"""Between two looks for changes of other processes, of which these tests have none but stores of their own."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """``time()`` starts at START; only timers move it. Threads and sockets still wake it."""

    def __init__(self) -> None:
        self.now = START
        super().__init__(LeapingSelector(self))

    def time(self) -> float:
        return self.now

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        # Its bound, which Python 3.12 has, is over at once where time leaps while a thread ends.
        await super().shutdown_default_executor()

    def run_forever(self) -> None:
        # While a search is read in a thread nothing is ready here, and time would leap. A hundred looks in each second
        # that is leapt over would take a fifth of the time of these tests.
        with patch.object(Database, "beside", Database.snapshot), patch.object(change_watcher, "EVERY", LOOK_SECONDS):
            super().run_forever()


class LeapingSelector(selectors.DefaultSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None:
            return super().select(None)
        events = super().select(0)
        if not events:
            # A little more, so that rounding never leaves the timer in the future.
            self._loop.now += timeout + 1e-6
        return events


async def settle(turns: int = 20) -> None:
    """Let everything run that is ready, without any time passing."""
    for _ in range(turns):
        await asyncio.sleep(0)
