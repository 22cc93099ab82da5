"""The end of a process whose actors have ended: code of the application that runs on does not keep it."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import PurePath
from types import FrameType
from typing import Any

from stepward.cli.failures import FAILED
from stepward.interrupts import end_at_once
from stepward.model.failures import is_own
from stepward.threads import performed

MOST_NAMED = 5


END_SECONDS = 5.0
"""How long what still runs after the end, such as threads of the application's, may keep the process."""


LEAST_STOP_SECONDS = 15.0
"""How long actors may take to end at the least: a busy machine is slow, and a silent server is waited for a little."""


def bound_end(code: int) -> Callable[[], None]:
    """End the process with ``code`` if it still runs ``END_SECONDS`` from now, and say what it ran.

    Calling what is returned lifts the bound.
    """

    def why() -> str:
        found = ", ".join(_running()) or "code that does not end"
        return f"expected nothing to run {END_SECONDS:g} s after the end, found {found}: ended all the same"

    return _bound(END_SECONDS, code, why)


@contextmanager
def bounded_stop(seconds: float) -> Iterator[Callable[[], None]]:
    """A block in which actors run; they begin to end when what it gives is called.

    From then on they have so many seconds, or ``LEAST_STOP_SECONDS``: a broker or a store that never answers keeps no
    process.
    """
    allowed = max(seconds, LEAST_STOP_SECONDS)
    loop = asyncio.get_running_loop()
    lifts: list[Callable[[], None]] = []

    def why() -> str:
        found = ", ".join(_waiting(loop)) or "code that does not end"
        return f"expected all actors ended {allowed:g} s after the end began, found {found}: ended all the same"

    try:
        yield lambda: lifts.append(_bound(allowed, FAILED, why))
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
    """How a process ended: in good order, or with functions in threads that do not return."""
    calls = {name: [f for f in frames if not is_own(f.f_code)] for name, frames in performed().items()}
    found = [
        f"{frames[-1].f_code.co_qualname} in thread {name}, at {_place(frames[0])}"
        for name, frames in calls.items()
        if frames
    ]
    if not found:
        return "Ended in good order."
    more = f", and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    return f"Ended, but what does not return was left: {'; '.join(found[:MOST_NAMED])}{more}."


def _place(frame: FrameType) -> str:
    code = frame.f_code
    return f"{PurePath(code.co_filename).name}:{frame.f_lineno} in {code.co_name}"


def _wait(lifted: threading.Event, seconds: float, code: int, why: Callable[[], str]) -> None:
    if not lifted.wait(seconds):
        end_at_once(code, why())


def _waiting(loop: asyncio.AbstractEventLoop) -> list[str]:
    """The tasks that are not over, each with its place."""
    found = [(task.get_name(), _innermost(task.get_coro())) for task in asyncio.all_tasks(loop)]
    return [f"{name} at {_place(frame)}" for name, frame in found if frame is not None][:MOST_NAMED]


def _innermost(coroutine: Any) -> FrameType | None:
    """Where a coroutine that waits stands: a task itself knows its outermost call alone."""
    frame: FrameType | None = None
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None) or frame
        coroutine = getattr(coroutine, "cr_await", None)
    return frame


def _running() -> list[str]:
    """The threads that keep the process, each with its place."""
    frames = sys._current_frames()
    found = []
    for thread in threading.enumerate():
        frame = frames.get(thread.ident or 0)
        if frame is not None and not thread.daemon and thread is not threading.main_thread():
            found.append(f"{thread.name} at {_place(frame)}")
    return found[:MOST_NAMED]
