"""The longest time for which one callback held the event loop of this process."""

from __future__ import annotations

import time
from asyncio import Handle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple
from unittest.mock import patch

MILLISECONDS = 1e3


class Hold(NamedTuple):
    """How long one callback ran, in seconds: by the clock, and on the CPU, which other processes do not disturb."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0


class LoopMeter:
    """Keeps the longest hold since ``reset``."""

    def __init__(self) -> None:
        self.longest = Hold()

    def reset(self) -> None:
        """Forget what was measured so far."""
        self.longest = Hold()

    def figures(self, name: str) -> dict[str, float]:
        """The longest hold in milliseconds."""
        longest = self.longest
        return {
            f"{name}_ms": longest.seconds * MILLISECONDS,
            f"{name}_cpu_ms": longest.cpu_seconds * MILLISECONDS,
        }


@contextmanager
def loop_meter() -> Iterator[LoopMeter]:
    """Time every callback of every event loop within the block."""
    meter, run = LoopMeter(), Handle._run

    def timed(handle: Handle) -> None:
        began, used = time.perf_counter(), time.thread_time()
        run(handle)
        seconds = time.perf_counter() - began
        if seconds > meter.longest.seconds:
            meter.longest = Hold(seconds, time.thread_time() - used)

    with patch.object(Handle, "_run", timed):
        yield meter
