"""Row 10: a loop that stands still is noticed, and the blocking line is named."""

from __future__ import annotations

import threading

from stepward.clock import SystemClock
from stepward.events import Event, Observers
from stepward.host.watchdog import Watchdog


class JumpingClock(SystemClock):
    """A clock that a test sets on."""

    def __init__(self) -> None:
        self.instant = 100.0

    def boot(self) -> float:
        return self.instant


async def test_blocking_line_is_named() -> None:
    clock = JumpingClock()
    told: list[Event] = []
    heard = threading.Event()

    def observe(event: Event) -> None:
        told.append(event)
        heard.set()

    watchdog = Watchdog(clock, Observers(observe))
    watchdog.start()
    clock.instant += 5
    assert heard.wait(10), "the loop stands still right here"
    watchdog.stop()
    assert told[0].name == "loop.blocked"
    assert told[0].fields["seconds"] == 5.0
    assert "test_blocking_line_is_named" in told[0].fields["where"]


async def test_stopping_ends_the_thread() -> None:
    watchdog = Watchdog(SystemClock(), Observers())
    watchdog.start()
    watchdog.stop()
    assert not any(thread.name == "stepward-watchdog" for thread in threading.enumerate())
