"""Wall clocks that are stepped and drift: of each process, as that of a host of its own, and of each server."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Mapping
from pathlib import Path
from typing import SupportsIndex

from servers.clocks import LIBRARIES, MovedClock

STEPS = (-3600.0, -60.0, -15.0, 15.0, 60.0, 3600.0)
RATES = (0.9, 1.1)
RIGHT = 1.0


class ShiftedClock:
    """The wall clock of one process and its children; it runs right until it is moved."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)
        self._moved = MovedClock(folder)
        self._ahead = 0.0
        self.rate = RIGHT
        self._set_at = self._begun_at = time.time()

    @property
    def environment(self) -> Mapping[str, str]:
        """For the process whose clock this is; nothing where libfaketime is missing."""
        return self._moved.environment if LIBRARIES else {}

    @property
    def ahead(self) -> float:
        """Seconds by which it is ahead of the right time."""
        return self._ahead + (self.rate - RIGHT) * (time.time() - self._set_at)

    def begin(self, at: float | None = None) -> None:
        """Its process begins now, or began ``at``; its rate counts from there."""
        self._begun_at = time.time() if at is None else at
        self.set(self.ahead, self.rate)

    def set(self, ahead: float, rate: float = RIGHT) -> None:
        """From now on it is ahead by so many seconds, and runs so fast."""
        self._ahead, self.rate, self._set_at = ahead, rate, time.time()
        # libfaketime multiplies all the time since the process began.
        earlier = (rate - RIGHT) * (self._set_at - self._begun_at)
        self._moved.move(f"{ahead - earlier:+.3f} x{rate:g}")


def mend_sleep() -> None:
    """Let ``time.sleep`` work under libfaketime, which refuses the call that Python makes (EINVAL)."""
    if "FAKETIME_TIMESTAMP_FILE" in os.environ:
        time.sleep = _wait


def _wait(seconds: float | SupportsIndex) -> None:
    select.select([], [], [], float(seconds))
