"""Setup of a process that does nothing but run actors."""

from __future__ import annotations

import gc

YOUNG_OBJECTS = 20_000
"""CPython's default is 700 (2,000 from 3.13); a turn allocates more objects, most of them short-lived."""


def tune_process() -> None:
    """Make the garbage collector run once in several turns instead of several times in one.

    Imported objects are frozen for good. This affects the whole process: an application that runs actors within a
    process of its own decides for itself.
    """
    gc.freeze()
    _, older, oldest = gc.get_threshold()
    gc.set_threshold(YOUNG_OBJECTS, older, oldest)
