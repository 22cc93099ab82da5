"""Futures that workflow code makes past its loop: while it runs, asyncio's own hash by their order of creation.

``asyncio.gather`` and ``asyncio.Future()`` make futures of classes of their own, which hash by address: sets of them,
and ``asyncio.wait`` keeps such sets, would iterate otherwise in every process. While a workflow is driven the names
lead to classes that hash as all that its loop makes; on other loops (another thread's) these are as asyncio's are.
"""

from __future__ import annotations

import asyncio
import asyncio.tasks
from collections.abc import Sequence
from typing import Any, TypeVar, cast

T = TypeVar("T")
PLAIN = asyncio.Future
GATHERING: Any = asyncio.tasks._GatheringFuture  # type: ignore[attr-defined]


class Counting(asyncio.AbstractEventLoop):
    """A loop that counts what is created on it."""

    def count_created(self) -> int:
        """The number of what is created now; it is what the thing hashes by."""
        raise NotImplementedError


class _Alike(type):
    """Of a class that stands in for asyncio's: what is an instance of that one is an instance of it."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, PLAIN) if cls is CountedFuture else super().__instancecheck__(instance)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, PLAIN) if cls is CountedFuture else super().__subclasscheck__(other)


class CountedFuture(PLAIN[T], metaclass=_Alike):
    """What ``asyncio.Future()`` makes in workflow code."""

    def __init__(self, *, loop: asyncio.AbstractEventLoop | None = None) -> None:
        super().__init__(loop=loop)
        self._number = _number_of(self)

    def __hash__(self) -> int:
        return self._number


class CountedGathering(GATHERING):  # type: ignore[misc]  # asyncio's own, which has no public name
    """What ``asyncio.gather`` makes in workflow code."""

    def __init__(self, children: Sequence[PLAIN[Any]], *, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(children, loop=loop)
        self._number = _number_of(cast("PLAIN[Any]", self))

    def __hash__(self) -> int:
        return self._number


NAMES, NAMES_OF_TASKS = vars(asyncio), vars(asyncio.tasks)

# Threads that drive workflows at once are counted. No lock: each of these statements is one step under the
# interpreter's, and they stand on the way of every step of every task.
_driven = 0


def begin_counting() -> None:
    """A workflow is driven from now on, perhaps beside one of another thread."""
    global _driven  # noqa: PLW0603  one for the process, as asyncio's names are
    _driven += 1
    if _driven == 1:
        NAMES["Future"], NAMES_OF_TASKS["_GatheringFuture"] = CountedFuture, CountedGathering


def end_counting() -> None:
    """It is driven no more."""
    global _driven  # noqa: PLW0603
    _driven -= 1
    if _driven == 0:
        NAMES["Future"], NAMES_OF_TASKS["_GatheringFuture"] = PLAIN, GATHERING


def _number_of(future: PLAIN[Any]) -> int:
    loop = future.get_loop()
    return loop.count_created() if isinstance(loop, Counting) else id(future) >> 4
