"""Notices an event loop that stands still, and names the line that holds it up.

While the loop stands still no lease is renewed: another process will take over, and fencing keeps what this one
does afterwards from counting. The word is for whoever has to find the blocking call.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from types import FrameType

from stepward.clock import Clock
from stepward.events import Observers

PATIENCE = 1.0
"""Seconds for which the loop may stand still unremarked."""
EVERY = 0.25


class Watchdog:
    """A thread that looks whether the loop still moves."""

    def __init__(self, clock: Clock, observers: Observers) -> None:
        self._clock = clock
        self._observers = observers
        self._moved_at = clock.boot()
        self._over = threading.Event()
        self._beat: asyncio.TimerHandle | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Watch the running loop."""
        self._moved_at = self._clock.boot()
        self._move(asyncio.get_running_loop())
        watched = threading.get_ident()
        self._thread = threading.Thread(target=self._watch, args=(watched,), name="stepward-watchdog", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Watch no more."""
        self._over.set()
        if self._beat is not None:
            self._beat.cancel()
        if self._thread is not None:
            self._thread.join()

    def _move(self, loop: asyncio.AbstractEventLoop) -> None:
        self._moved_at = self._clock.boot()
        self._beat = loop.call_later(EVERY, self._move, loop)

    def _watch(self, watched: int) -> None:
        told_of = 0.0
        while not self._over.wait(EVERY):
            moved_at = self._moved_at
            still = self._clock.boot() - moved_at
            if still > PATIENCE and told_of != moved_at:
                told_of = moved_at
                frame = sys._current_frames().get(watched)
                self._observers.tell("loop.blocked", seconds=round(still, 1), where=_where(frame))


def _where(frame: FrameType | None) -> str:
    """The innermost lines, the blocking one first."""
    lines: list[str] = []
    while frame is not None and len(lines) < 3:
        lines.append(f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}")
        frame = frame.f_back
    return " < ".join(lines) or "unknown"
