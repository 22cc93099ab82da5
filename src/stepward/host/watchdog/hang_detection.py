"""Watches an event loop from a thread: names the line that blocks it, counts the hang, and ends a process that hangs.

While the loop is blocked no lease is renewed: another process takes over, and fencing makes later writes of this one
void. Code that blocked once blocks again in the next process, so hangs are counted on the task, through a connection of
the thread's own; from the second on the task is parked for an operator, and no further process runs its code.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import FrameType
from typing import ClassVar

from stepward.clock import Clock
from stepward.durations import text
from stepward.events import Observers
from stepward.host.watchdog.blocking_code import Blamed, blame, is_debugged
from stepward.host.watchdog.os_timer import OsTimer, interrupted
from stepward.runtime.interrupts import end_at_once

PATIENCE = 1.0
"""Seconds for which the loop may be blocked without a report."""
EVERY = 0.25
PAUSED = 1.0
"""Seconds by which the thread's own check may be late; more means that the whole process was stopped."""
COUNT_SECONDS = 7.0
"""Seconds that counting may take: a busy database file is waited for."""
ENDED = 1

CountHang = Callable[[Blamed], Awaitable[int | None]]
"""Counts a hang on its task, on an event loop of its own; returns the number of hangs."""
EndProcess = Callable[[int, str], object]


class Watchdog:
    """A thread that checks whether the loop is blocked; ``limit`` None: it never ends the process."""

    _watching: ClassVar[dict[asyncio.AbstractEventLoop, Watchdog]] = {}
    """By loop, the watchdog that watches it: one hang counts once."""

    def __init__(
        self,
        clock: Clock,
        observers: Observers,
        *,
        lease: float,
        limit: float | None,
        count: CountHang,
        break_off: Callable[[], bool],
        leave: Callable[[], Awaitable[None]],
        end: EndProcess = end_at_once,
    ) -> None:
        self._clock = clock
        self._observers = observers
        self._lease = lease
        self._limit = None if limit is None else max(limit, lease)
        self._count = count
        self._break_off = break_off
        self._leave = leave
        self._end = end
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ident = 0
        self._asked_at = 0.0
        self._has_answered = True
        """Whether the loop has run since the last check."""
        self._reported = self._counted = False
        self._count_note = ""
        self._hangs: int | None = None
        """The number of this hang on its task; None until it is counted."""
        self._alarm = OsTimer(PATIENCE, EVERY)
        self._beside: list[Watchdog] = []
        """Those of other actors on the loop, each with a store of its own; they watch nothing themselves."""

    def start(self) -> None:
        """Watch the running loop, unless it is watched already."""
        self._ident, self._loop = threading.get_ident(), asyncio.get_running_loop()
        watching = Watchdog._watching.get(self._loop)
        if watching is None:
            self._begin()
        else:
            watching._beside.append(self)

    def stop(self) -> None:
        """Stop watching; another actor of the loop goes on with it."""
        watching = None if self._loop is None else Watchdog._watching.get(self._loop)
        if watching is self:
            self._over.set()
            if self._thread is not None:
                self._thread.join()
            self._alarm.stop()
            self._hand_over()
        elif watching is not None and self in watching._beside:
            watching._beside.remove(self)

    def _begin(self) -> None:
        if self._loop is not None:
            Watchdog._watching[self._loop] = self
        self._alarm.start()
        self._thread = threading.Thread(target=self._watch, name="stepward-watchdog", daemon=True)
        self._thread.start()

    def _hand_over(self) -> None:
        if self._loop is not None:
            del Watchdog._watching[self._loop]
        if self._beside:
            successor, *successor._beside = self._beside
            self._beside = []
            successor._begin()

    def _watch(self) -> None:
        looked_at = self._clock.boot()
        while not self._over.wait(EVERY):
            now = self._clock.boot()
            late, looked_at = now - looked_at - EVERY, now
            if self._has_answered:
                self._ask(now)
            elif late > PAUSED:
                self._asked_at += late
            else:
                self._judge(now - self._asked_at)

    def _ask(self, now: float) -> None:
        self._reported = self._counted = False
        self._count_note = ""
        self._hangs = None
        self._asked_at = now
        self._has_answered = False
        with suppress(RuntimeError):  # The loop is closed, and its owner stops this thread.
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._answer)

    def _answer(self) -> None:
        self._has_answered = True
        self._alarm.put_off()

    def _judge(self, still: float) -> None:
        if still <= PATIENCE:
            return
        frame = interrupted(sys._current_frames().get(self._ident))
        if not self._reported:
            self._reported = True
            self._emit("loop.blocked", seconds=round(still, 1), where=_where(frame))
        if still < self._lease or is_debugged(frame):
            return
        if not self._counted:
            self._counted = True
            self._count_hang(still, blame(frame))
        if self._limit is not None and still >= self._limit:
            self._end_process(still, blame(frame))

    def _count_hang(self, still: float, blamed: Blamed) -> None:
        if blamed.task is None:
            return
        counts = (_run(each._count(blamed)) for each in (self, *self._beside))
        hangs = self._hangs = next((count for count in counts if count is not None), None)
        self._count_note = (
            "not counted: the store gave no answer" if hangs is None else f"counted as its hang no. {hangs}"
        )
        self._emit("task.hung", what=blamed.what, where=blamed.at, seconds=round(still, 1), hangs=hangs)

    def _end_process(self, still: float, blamed: Blamed) -> None:
        is_broken_off = True in [each._break_off() for each in (self, *self._beside)]
        if is_broken_off and self._hangs is None:
            # The blocking code held the file's lock; now the hang can be counted.
            self._count_hang(still, blamed)
        for each in (self, *self._beside):
            _run(each._leave())
        if self._has_answered and not is_broken_off:
            return
        said = f" ({self._count_note})" if self._count_note else ""
        self._end(
            ENDED,
            f"expected code that yields to the event loop, found it held up for {text(round(still))} by {blamed.what} "
            f"at {blamed.at}{said}: this process ends; hang_limit is the setting",
        )

    def _emit(self, name: str, **fields: object) -> None:
        """In a thread of its own: an observer may need a lock that the blocking code holds."""
        threading.Thread(target=self._observers.emit, args=(name,), kwargs=fields, daemon=True).start()


def _run(work: Awaitable[int | None]) -> int | None:
    """Run it on a loop of this thread; None if it fails or takes too long."""

    async def done() -> int | None:
        async with asyncio.timeout(COUNT_SECONDS):
            return await work

    try:
        return asyncio.run(done())
    except Exception:  # The process must end in any case.
        return None


def _where(frame: FrameType | None) -> str:
    """The innermost lines, the blocking one first."""
    lines: list[str] = []
    while frame is not None and len(lines) < 3:
        lines.append(f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}")
        frame = frame.f_back
    return " < ".join(lines) or "unknown"
