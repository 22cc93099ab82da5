"""The signals that end a process: the first one drains it, the second ends it at once."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress

from stepward.runtime.interrupts import end_at_once

SIGNALS = (signal.SIGTERM, signal.SIGINT)
SIGNALLED = 128
NOTES = 64
"""Most signals read at once."""


class ProcessSignals:
    """Handles SIGTERM and SIGINT from now on; ``stop`` is set when the process is to drain.

    The first argument is called at the first signal, from a signal handler or a thread, even if the loop hangs;
    ``begun`` in the loop, when the drain begins; ``at_once`` at the second signal. While the loop hangs, a second
    signal is noticed by Python's own handler in the main thread, or by a thread that reads the interpreter's wakeup
    descriptor, because a blocking call may delay handlers.
    """

    def __init__(
        self,
        *,
        on_first: Callable[[], None] = lambda: None,
        begun: Callable[[], None] = lambda: None,
        at_once: Callable[[], None] = lambda: None,
    ) -> None:
        self.stop = asyncio.Event()
        self._on_first = on_first
        self._may_tell = threading.Lock()
        self._begun = begun
        self._at_once = at_once
        self._handled = self._noted = 0
        self._loop = asyncio.get_running_loop()
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        threading.Thread(target=self._read, args=(reader,), name="stepward-signals", daemon=True).start()
        for number in SIGNALS:
            signal.signal(number, self._handle)

    def drain(self) -> None:
        """Drain as at the first signal; the next signal still counts as the first one.

        When a process group is ended, a child may be signalled both by its parent and directly.
        """
        if not self.stop.is_set():
            self.stop.set()
            self._begun()

    def _handle(self, number: int, frame: object) -> None:
        self._handled += 1
        self._received(number)

    def _read(self, reader: int) -> None:
        while True:
            for number in os.read(reader, NOTES):
                if number in SIGNALS:
                    self._noted += 1
                    self._received(number)

    def _received(self, number: int) -> None:
        if max(self._handled, self._noted) > 1:
            self._at_once()
            name = signal.Signals(number).name
            # Nothing is lost: the store holds the truth, as after a crash.
            end_at_once(SIGNALLED + number, f"expected to drain, found a second signal ({name}): ended at once")
        if self._may_tell.acquire(blocking=False):
            self._on_first()
        with suppress(RuntimeError):  # The loop is closed already.
            self._loop.call_soon_threadsafe(self.drain)
