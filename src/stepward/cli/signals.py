"""The signals that end a process: the first one drains it, the second ends it at once."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable

SIGNALS = (signal.SIGTERM, signal.SIGINT)
SIGNALLED = 128


class Signals:
    """Hears SIGTERM and SIGINT from now on; ``stop`` is set when the process is to drain."""

    def __init__(self, *, told: Callable[[], None], at_once: Callable[[], None]) -> None:
        self.stop = asyncio.Event()
        self._told = told
        self._at_once = at_once
        self._heard_one = False
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self._heard, number)

    def drain(self) -> None:
        """Drain as at the first signal; a signal that follows counts as the first one all the same.

        Where a group of processes is told to end, each child may hear it from its parent and from whoever told all.
        """
        if not self.stop.is_set():
            self.stop.set()
            self._told()

    def _heard(self, number: int) -> None:
        if self._heard_one:
            sys.stdout.flush()
            self._at_once()
            # Nothing is lost: what stands in the store is the truth, as after a crash.
            os._exit(SIGNALLED + number)
        self._heard_one = True
        self.drain()
