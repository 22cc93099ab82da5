"""The end of a process whose actors have ended: application code that still runs does not delay it for long."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import PurePath
from types import FrameType
from typing import Any

from stepward.cli.exit_codes import FAILED
from stepward.model.failures import is_own
from stepward.runtime.interrupts import end_at_once
from stepward.runtime.threads import performed

MOST_NAMED = 5


END_SECONDS = 5.0
"""Seconds for which code that still runs after the end, such as the application's threads, may delay the process."""


LEAST_STOP_SECONDS = 15.0
"""Least seconds for actors to end: a busy machine is slow, and a silent server is waited for a little."""


def bound_end(code: int) -> Callable[[], None]:
    """End the process with ``code`` if it still runs ``END_SECONDS`` from now, and name the code that it runs.

    Calling the returned function cancels that.
    """

    def why() -> str:
        found = ", ".join(_running()) or "code that does not end"
        return f"expected nothing to run {END_SECONDS:g} s after the end, found {found}: ended all the same"

    return _bound(END_SECONDS, code, why)


@contextmanager
def bounded_stop(seconds: float) -> Iterator[Callable[[], None]]:
    """A block in which actors start and run; they begin to end when the returned function is first called.

    From then on they have ``seconds``, or ``LEAST_STOP_SECONDS``: a broker or store that never answers does not delay
    the process further.
    """
    allowed = max(seconds, LEAST_STOP_SECONDS)
    loop = asyncio.get_running_loop()
    lifts: list[Callable[[], None]] = []

    def why() -> str:
        found = ", ".join(_waiting(loop)) or "code that does not end"
        return f"expected all actors ended {allowed:g} s after the end began, found {found}: ended all the same"

    def ends() -> None:
        if not lifts:
            lifts.append(_bound(allowed, FAILED, why))

    try:
        yield ends
    finally:
        for lift in lifts:
            lift()


def _bound(seconds: float, code: int, why: Callable[[], str]) -> Callable[[], None]:
    lifted = threading.Event()
    waiting = threading.Thread(target=_wait, args=(lifted, seconds, code, why), name="stepward-end", daemon=True)
    waiting.start()

    def lift() -> None:
        lifted.set()
        waiting.join()

    return lift


def last_words() -> str:
    """The end of a process in words: in good order, or with functions in threads that do not return."""
    calls = {name: [f for f in frames if not is_own(f.f_code)] for name, frames in performed().items()}
    found = [
        f"{frames[-1].f_code.co_qualname} in thread {name}, at {_place(frames[0])}"
        for name, frames in calls.items()
        if frames
    ]
    if not found:
        return "Ended in good order."
    more = f", and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    return f"Ended; functions that do not return were abandoned: {'; '.join(found[:MOST_NAMED])}{more}."


def _place(frame: FrameType) -> str:
    code = frame.f_code
    return f"{PurePath(code.co_filename).name}:{frame.f_lineno} in {code.co_name}"


def _wait(lifted: threading.Event, seconds: float, code: int, why: Callable[[], str]) -> None:
    if not lifted.wait(seconds):
        end_at_once(code, why())


def _waiting(loop: asyncio.AbstractEventLoop) -> list[str]:
    """The unfinished tasks, each with its place in the code."""
    found = [(task.get_name(), _innermost(task.get_coro())) for task in asyncio.all_tasks(loop)]
    return [f"{name} at {_place(frame)}" for name, frame in found if frame is not None][:MOST_NAMED]


def _innermost(coroutine: Any) -> FrameType | None:
    """Where a waiting coroutine is suspended: a task's own stack shows the outermost call only."""
    frame: FrameType | None = None
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None) or frame
        coroutine = getattr(coroutine, "cr_await", None)
    return frame


def _running() -> list[str]:
    """The threads that delay the process's end, each with its place in the code."""
    frames = sys._current_frames()
    found = []
    for thread in threading.enumerate():
        frame = frames.get(thread.ident or 0)
        if frame is not None and not thread.daemon and thread is not threading.main_thread():
            found.append(f"{thread.name} at {_place(frame)}")
    return found[:MOST_NAMED]
