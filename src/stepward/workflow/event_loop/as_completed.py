"""``asyncio.as_completed`` starts bare coroutines in the order of their addresses; here, as listed."""

from __future__ import annotations

import asyncio.tasks
import sys
from collections.abc import Coroutine
from operator import attrgetter
from types import CodeType, FrameType
from typing import Any

DEPTH = 4
"""Frames between a loop's ``create_task`` and ``as_completed``."""


def _codes(*names: str) -> frozenset[CodeType]:
    found: list[Any] = [attrgetter(name)(asyncio.tasks) for name in names if _exists(name)]
    return frozenset(function.__code__ for function in found)


def _exists(name: str) -> bool:
    return hasattr(asyncio.tasks, name.partition(".")[0])


ENSURING = _codes("ensure_future", "_ensure_future")
COMPLETING = _codes("as_completed", "_AsCompletedIterator.__init__")


def listed_beside(caller: FrameType) -> list[Coroutine[Any, Any, Any]] | None:
    """The coroutines that ``as_completed`` starts together, in order; None unless it is the one that calls.

    Empty when it was given something without an order: a set, a generator.
    """
    if caller.f_code not in ENSURING:
        return None
    frame: FrameType | None = caller
    for _ in range(DEPTH):
        if frame is None:
            return None
        if frame.f_code in COMPLETING:
            given = frame.f_locals.get("fs", frame.f_locals.get("aws"))
            return [one for one in given if asyncio.iscoroutine(one)] if isinstance(given, list | tuple) else []
        frame = frame.f_back
    return None


def calling_frame() -> FrameType:
    """The frame that called the function which asks."""
    return sys._getframe(2)
