"""Row 10: a loop that stands still is noticed, the blocking line is named and counted, and the process ends."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest

from stepward.clock import SystemClock
from stepward.events import Event, Observers
from stepward.host.watchdog.blocking_code import Blamed
from stepward.host.watchdog.hang_detection import EVERY, Watchdog


class SteppedClock(SystemClock):
    """A clock that moves on by a fixed time whenever it is read."""

    def __init__(self, step: float) -> None:
        self.instant = 100.0
        self.step = step

    def boot(self) -> float:
        self.instant += self.step
        return self.instant


PACE = 10
"""How much faster than in reality the watchdog looks; the clock that it reads is stepped."""
LOOKS_SECONDS = 8 * EVERY / PACE
"""What eight looks take."""


class Hurried(threading.Event):
    """Waits for a fraction of the requested time."""

    def wait(self, timeout: float | None = None) -> bool:
        return super().wait(timeout and timeout / PACE)


class Watched:
    """A watchdog over the running loop, and what it did."""

    def __init__(self, clock: SystemClock, *, lease: float, limit: float | None) -> None:
        self.did: queue.Queue[Any] = queue.Queue()
        self.hangs: int | None = 2
        self.watchdog = Watchdog(
            clock,
            Observers(self.did.put),
            lease=lease,
            limit=limit,
            count=self._count,
            break_off=lambda: False,
            leave=self._leave,
            end=lambda code, why: self.did.put((code, why)),
        )
        self.watchdog._over = Hurried()

    def __enter__(self) -> Watched:
        self.watchdog.start()
        return self

    def __exit__(self, *_: object) -> None:
        # Also where the test has failed: its alarm would end the process.
        self.watchdog.stop()

    async def _count(self, blamed: Blamed) -> int | None:
        self.did.put(blamed)
        return self.hangs

    async def _leave(self) -> None:
        self.did.put("left")

    def until(self, wanted: Callable[[Any], bool]) -> list[Any]:
        """What it does until then, while this very call holds up the loop."""
        found: list[Any] = []
        while not found or not wanted(found[-1]):
            found.append(self.did.get(timeout=20))
        return found


async def test_blocking_line_is_named() -> None:
    with Watched(SteppedClock(EVERY), lease=1000, limit=None) as watched:
        (told,) = watched.until(lambda did: isinstance(did, Event))
    assert told.name == "loop.blocked"
    assert told.fields["seconds"] > 1
    assert "test_hang_detection.py" in told.fields["where"]


async def test_a_loop_that_hangs_longer_than_the_limit_ends_the_process() -> None:
    with Watched(SteppedClock(EVERY), lease=2, limit=3) as watched:
        *before, (code, why) = watched.until(lambda did: isinstance(did, tuple) and not isinstance(did, Blamed))
    assert before[-1] == "left"
    assert code == 1
    assert why.startswith(
        "expected code that yields to the event loop, found it held up for 3s by code of no task at test_"
    )


async def test_no_limit_ends_a_process_before_its_hang_could_be_counted() -> None:
    """A hang is counted after a lease: a process that ends before leaves the next one to hang as well."""
    with Watched(SteppedClock(EVERY), lease=3, limit=1.5) as watched:
        *_, (_, why) = watched.until(lambda did: isinstance(did, tuple) and not isinstance(did, Blamed))
    assert "found it held up for 3s by" in why


async def test_a_hang_is_counted_in_the_store_that_has_the_task() -> None:
    clock = SteppedClock(EVERY)
    with Watched(clock, lease=2, limit=3) as first, Watched(clock, lease=2, limit=3) as second:
        first.hangs = None
        with patch(
            "stepward.host.watchdog.hang_detection.blame", lambda frame: Blamed("workflow w of task t", "t", "w.py:1")
        ):
            first.until(lambda did: isinstance(did, tuple) and not isinstance(did, Blamed))
        found = [second.did.get_nowait() for _ in range(second.did.qsize())]
    assert [type(each) for each in found] == [Blamed, str]
    assert found[-1] == "left"


async def test_without_a_limit_a_hanging_loop_is_only_reported() -> None:
    with Watched(SteppedClock(EVERY), lease=1.5, limit=None) as watched:
        watched.until(lambda did: isinstance(did, Event))
        with pytest.raises(queue.Empty):
            watched.did.get(timeout=LOOKS_SECONDS)


async def test_a_process_that_was_stopped_has_no_hanging_loop() -> None:
    """Only the thread's own check is late: a pause of the process paused both."""
    with Watched(SteppedClock(60.0), lease=1, limit=1) as watched, pytest.raises(queue.Empty):
        watched.did.get(timeout=LOOKS_SECONDS)


async def test_stopping_ends_the_thread() -> None:
    watched = Watched(SystemClock(), lease=10, limit=30)
    watched.watchdog.start()
    watched.watchdog.stop()
    assert not any(thread.name == "stepward-watchdog" for thread in threading.enumerate())


async def test_a_loop_is_watched_once() -> None:
    first, second = (Watched(SystemClock(), lease=10, limit=30) for _ in range(2))
    first.watchdog.start()
    second.watchdog.start()
    assert [thread.name for thread in threading.enumerate()].count("stepward-watchdog") == 1
    second.watchdog.stop()
    first.watchdog.stop()


async def test_another_actor_of_the_loop_goes_on_watching_when_the_first_stops() -> None:
    with (
        Watched(SteppedClock(EVERY), lease=1000, limit=None) as first,
        Watched(SteppedClock(EVERY), lease=1000, limit=None) as second,
    ):
        first.watchdog.stop()
        first.watchdog.stop()
        (blocked,) = second.until(lambda did: isinstance(did, Event))
    assert blocked.name == "loop.blocked"
