"""Setup of a process that does nothing but run actors."""

from __future__ import annotations

import gc
import sys

YOUNG_OBJECTS = 20_000
"""CPython's default is 700 (2,000 from 3.13); a turn allocates more objects, most of them short-lived."""
YOUNG_PASSES = 1
"""CPython's default of 10 lets 240,000 objects gather for one pass, which holds the event loop meanwhile."""
MIDDLE_PASSES = 46
"""Passes over all objects stay as rare as with CPython's defaults of 10: one for 2,880,000 objects that stay."""
COLLECTS_IN_STEPS = sys.version_info >= (3, 14)
"""CPython 3.14 divides a pass over all objects by itself, and gives the second threshold another meaning."""


def tune_process() -> None:
    """Make the garbage collector run once in several turns, and hold the event loop briefly when it does.

    Imported objects are frozen for good. This affects the whole process: an application that runs actors within a
    process of its own decides for itself.
    """
    gc.freeze()
    _, older, oldest = gc.get_threshold()
    if not COLLECTS_IN_STEPS:
        older, oldest = YOUNG_PASSES, MIDDLE_PASSES
    gc.set_threshold(YOUNG_OBJECTS, older, oldest)
