"""How a process that does nothing but run actors is set up."""

from __future__ import annotations

import gc

YOUNG_OBJECTS = 20_000
"""CPython's default looks after 700 (2,000 from 3.13); a turn makes more, and nearly all die with it."""


def tune_process() -> None:
    """Let the collector of cyclic garbage look at young objects once in several turns instead of several times in one.

    What was imported is left out of its sight for good. This is the whole process's: an application that runs actors
    within a process of its own decides for itself.
    """
    gc.freeze()
    _, older, oldest = gc.get_threshold()
    gc.set_threshold(YOUNG_OBJECTS, older, oldest)
