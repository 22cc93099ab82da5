"""Setup of a process that does nothing but run actors."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from stepward.clock import SystemClock

YOUNG_OBJECTS = 10_000
"""CPython's default is 700 (2,000 from 3.13); a turn allocates more objects, most of them short-lived."""
YOUNG_PASSES = 0
"""CPython's default of 10 lets 120,000 objects gather for one pass, which holds the event loop meanwhile."""
MIDDLE_PASSES = 0
"""A pass over all objects comes with some 30,000 that stay, and walks over no more: what survives one is frozen."""
RARE_PASSES = 142
"""Where nothing is frozen they are one for 2,880,000 objects that stay."""
OLDEST = 2
COLLECTS_IN_STEPS = sys.version_info >= (3, 14)
"""CPython 3.14 divides a pass over all objects by itself, and gives the second threshold another meaning."""
THAW_SECONDS = 3600.0
"""Seconds after which frozen objects are walked over again."""
THAW_GROWTH = 2.0
"""So they are when the process is twice as large as when it last happened, and ``THAW_BYTES`` beyond that."""
THAW_BYTES = 256 * 1024 * 1024
MEMORY = Path("/proc/self/statm")


class SurvivorsFrozen:
    """Freezes what has survived a pass over all objects, so that the next one walks only over those that are newer.

    A frozen object is freed with its last reference like any other. Those in cycles that are dropped later wait until
    all are thawed: after a while, or when the process has grown.
    """

    def __init__(self, now: Callable[[], float], size: Callable[[], int]) -> None:
        self._now = now
        self._size = size
        self._is_thawed = False
        """Whether the pass that runs walks over what was frozen."""
        self._set_thaw()

    def __call__(self, phase: str, info: Mapping[str, int]) -> None:
        """What ``gc.callbacks`` calls before and after each pass."""
        if info["generation"] != OLDEST:
            return
        if phase == "start":
            self._is_thawed = self._now() >= self._thaw_at or self._size() >= self._thaw_from
            if self._is_thawed:
                gc.unfreeze()
            return
        gc.freeze()
        if self._is_thawed:
            # Not before the pass: the growth would count from a size with all the garbage in it, and so go on.
            self._set_thaw()
            self._is_thawed = False

    def _set_thaw(self) -> None:
        self._thaw_at = self._now() + THAW_SECONDS
        self._thaw_from = THAW_GROWTH * self._size() + THAW_BYTES


def resident_bytes() -> int:
    """The bytes of this process that are in RAM."""
    return int(MEMORY.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def tune_process() -> None:
    """Make the garbage collector run once in several turns, and hold the event loop briefly when it does.

    Imported objects are frozen at once, and others once they have survived a pass over all objects. This affects the
    whole process: an application that runs actors within a process of its own decides for itself.
    """
    gc.freeze()
    # CPython puts off a pass over all until a quarter as many came as the last one left: from here on, of nothing.
    gc.collect()
    _, older, oldest = gc.get_threshold()
    if not COLLECTS_IN_STEPS:
        older, oldest = YOUNG_PASSES, RARE_PASSES
        if MEMORY.exists():
            oldest = MIDDLE_PASSES
            gc.callbacks.append(SurvivorsFrozen(SystemClock().boot, resident_bytes))
    gc.set_threshold(YOUNG_OBJECTS, older, oldest)
