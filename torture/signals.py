"""The end of a torture by a signal: the work is cancelled once, and its cleanup is not cut short."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Ending:
    """The handler of SIGINT and SIGTERM.

    Before the work, a signal raises SystemExit. During the work, the first one cancels it. After that, and after the
    work, signals are ignored: the cleanup, which ends every process that was started, takes a bounded time.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._work: asyncio.Task[Any] | None = None
        self._is_over = False
        self.exit_code: int | None = None
        """128 and the number of the signal, once there was one."""

    def install(self) -> None:
        """Handle the signals of this process from now on."""
        for number in SIGNALS:
            signal.signal(number, self.hear)

    async def bound(self, work: Coroutine[Any, Any, T]) -> T:
        """Do the work. Raises CancelledError when a signal ends it."""
        self._loop, self._work = asyncio.get_running_loop(), (task := asyncio.ensure_future(work))
        try:
            return await task
        finally:
            self._is_over = True

    def hear(self, number: int, _frame: object) -> None:
        """Obey the first signal."""
        if self._is_over or self.exit_code is not None:
            return
        self.exit_code = 128 + number
        if self._loop is None or self._work is None:
            sys.exit(self.exit_code)
        self._loop.call_soon_threadsafe(self._work.cancel)
