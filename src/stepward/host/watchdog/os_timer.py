"""A timer of the operating system that interrupts code which holds the interpreter's lock, so that threads can run.

A regular expression with endless backtracking holds the lock and only checks for signals. Without this timer the
watching thread would never run beside it.
"""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType

YIELD_SECONDS = 0.01
"""Seconds for which the lock is released at each alarm."""


class OsTimer:
    """Rings ``after`` seconds from the last ``put_off`` and every ``every`` seconds after that; only in the main
    thread, and only if the application uses no alarm of its own."""

    def __init__(self, after: float, every: float) -> None:
        self._after = after
        self._every = every
        self._is_set = False

    def start(self) -> None:
        """Start, if this is the main thread and SIGALRM is free."""
        if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
            return
        if signal.getsignal(signal.SIGALRM) is signal.SIG_DFL:
            signal.signal(signal.SIGALRM, _yield)
            self._is_set = True
            self.put_off()

    def put_off(self) -> None:
        """Restart the time until the next alarm: the loop runs."""
        if self._is_set:
            signal.setitimer(signal.ITIMER_REAL, self._after, self._every)

    def stop(self) -> None:
        """Stop."""
        if self._is_set:
            self._is_set = False
            signal.setitimer(signal.ITIMER_REAL, 0)
            if signal.getsignal(signal.SIGALRM) is _yield:
                signal.signal(signal.SIGALRM, signal.SIG_DFL)


def interrupted(frame: FrameType | None) -> FrameType | None:
    """The innermost frame of a thread, without an alarm that is ringing."""
    while frame is not None and frame.f_code is _yield.__code__:
        frame = frame.f_back
    return frame


def _yield(number: int, frame: object) -> None:
    time.sleep(YIELD_SECONDS)
