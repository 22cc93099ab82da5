"""A timer of the operating system's that interrupts code which keeps the interpreter's lock, so that threads may run.

A regular expression that backtracks for ever keeps the lock, and looks for signals now and then. Without this the
thread that watches would never run beside it.
"""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType

YIELD_SECONDS = 0.01
"""How long the lock is let go at each alarm."""


class OsTimer:
    """Rings ``after`` seconds from the last ``put_off`` and ``every`` so many then; in the main thread, where the
    application has no alarm of its own."""

    def __init__(self, after: float, every: float) -> None:
        self._after = after
        self._every = every
        self._is_set = False

    def start(self) -> None:
        """Begin, if this is the main thread and SIGALRM is free."""
        if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
            return
        if signal.getsignal(signal.SIGALRM) is signal.SIG_DFL:
            signal.signal(signal.SIGALRM, _yield)
            self._is_set = True
            self.put_off()

    def put_off(self) -> None:
        """The loop moves: ring later."""
        if self._is_set:
            signal.setitimer(signal.ITIMER_REAL, self._after, self._every)

    def stop(self) -> None:
        """Ring no more."""
        if self._is_set:
            self._is_set = False
            signal.setitimer(signal.ITIMER_REAL, 0)
            if signal.getsignal(signal.SIGALRM) is _yield:
                signal.signal(signal.SIGALRM, signal.SIG_DFL)


def interrupted(frame: FrameType | None) -> FrameType | None:
    """What runs in a thread of which ``frame`` is the innermost, an alarm that just rings left out."""
    while frame is not None and frame.f_code is _yield.__code__:
        frame = frame.f_back
    return frame


def _yield(number: int, frame: object) -> None:
    time.sleep(YIELD_SECONDS)
