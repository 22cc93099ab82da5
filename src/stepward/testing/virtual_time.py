"""Virtual time for a running event loop: it stops while work is ready, and advances at once to what is due next."""

from __future__ import annotations

import asyncio
import math
import selectors
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Protocol

from stepward.errors import SettingsError

START = datetime(2030, 1, 1, tzinfo=UTC).timestamp()
"""The wall clock of every environment at its start, so that runs of one seed are equal."""
HORIZON = 3 * 366 * 86_400.0
"""Virtual seconds without anything due after which the test is considered stuck."""
ROUNDING = 1e-6
"""Seconds added to an advance, so that rounding never leaves a timer in the future."""

Idle = Callable[[], float | None]
"""Called when nothing is ready. Returns the virtual instant of what is due next, 0 if it has made something ready,
None if nothing is due."""


class Selector(Protocol):
    """The part of an event loop that waits for input and output."""

    def select(self, timeout: float | None = None) -> Any:
        """The events that arrived within ``timeout`` seconds."""
        ...


class VirtualTime:
    """Virtual time for one event loop; ``stuck`` is called once when nothing has been due for HORIZON.

    Raises SettingsError for a loop that waits without a selector of Python's.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, stuck: Callable[[], None]) -> None:
        self._loop: Any = loop
        self._selector = _selector_of(loop)
        self._began = self._now = loop.time()
        self._idle: Idle = _nothing
        self._stuck = stuck
        self._due_last = self._now
        self._is_stuck = False
        self._select = self._selector.select

    @contextmanager
    def leaping(self, idle: Idle) -> Iterator[None]:
        """Replaces the time and the waiting of the loop within the block; ``idle`` is called before each advance."""
        self._idle = idle
        resolution = self._loop._clock_resolution
        self._resolve()
        self._loop.time = self.now
        self._selector.select = self._leap  # type: ignore[method-assign]
        try:
            yield
        finally:
            del self._loop.time
            self._loop._clock_resolution = resolution
            self._selector.select = self._select  # type: ignore[method-assign]

    def now(self) -> float:
        """The loop's time, in seconds."""
        return self._now

    def elapsed(self) -> float:
        """Virtual seconds since the beginning."""
        return self._now - self._began

    def _leap(self, timeout: float | None = None) -> Any:
        events = self._select(0)
        if events or timeout == 0:
            return events
        due = self._idle()
        if due == 0:
            return events
        timer = None if timeout is None else self._now + timeout
        instants = [instant for instant in (due, timer) if instant is not None]
        if not instants or self._now - self._due_last > HORIZON:
            return self._give_up(timeout)
        if due is not None:
            self._due_last = max(self._due_last, due)
        self._now = max(self._now, min(instants)) + ROUNDING
        self._resolve()
        return self._select(0)

    def _resolve(self) -> None:
        """Has timers due once their time is reached, and no earlier: time stands still while one is due, so that a wait
        for the rest of a microsecond would never end.

        After months a float of seconds no longer tells nanoseconds apart, and by the loop's own resolution no timer
        would be due.
        """
        self._loop._clock_resolution = math.ulp(self._now)

    def _give_up(self, timeout: float | None) -> Any:
        if self._is_stuck:
            return self._select(timeout)
        self._is_stuck = True
        self._stuck()
        return self._select(0)


class VirtualClock:
    """The wall and boot clock of every process in an environment."""

    def __init__(self, elapsed: Callable[[], float]) -> None:
        self._elapsed = elapsed

    def wall(self) -> float:
        return START + self._elapsed()

    def boot(self) -> float:
        return 1.0 + self._elapsed()

    def boot_id(self) -> str:
        return "virtual"


def _nothing() -> None:
    """Returns None: nothing is due."""


def _selector_of(loop: asyncio.AbstractEventLoop) -> Selector:
    found = getattr(loop, "_selector", None)
    if not isinstance(loop, asyncio.BaseEventLoop) or not isinstance(found, selectors.BaseSelector):
        raise SettingsError(
            f"environment: expected asyncio's own event loop with a selector, found {type(loop).__name__}; run the "
            "test on asyncio.SelectorEventLoop"
        )
    return found
