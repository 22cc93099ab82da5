"""The end of a process whose actors have ended: code of the application that runs on does not keep it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import PurePath
from types import FrameType

from stepward.interrupts import end_at_once
from stepward.model.failures import is_own
from stepward.threads import performed

MOST_NAMED = 5


END_SECONDS = 5.0
"""How long what still runs after the end, such as threads of the application's, may keep the process."""


def bound_end(code: int) -> Callable[[], None]:
    """End the process with ``code`` if it still runs ``END_SECONDS`` from now, and say what it ran.

    Calling what is returned lifts the bound.
    """
    lifted = threading.Event()
    waiting = threading.Thread(target=_wait, args=(lifted, code), name="stepward-end", daemon=True)
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


def _wait(lifted: threading.Event, code: int) -> None:
    if lifted.wait(END_SECONDS):
        return
    found = ", ".join(_running()) or "code that does not end"
    end_at_once(code, f"expected nothing to run {END_SECONDS:g} s after the end, found {found}: ended all the same")


def _running() -> list[str]:
    """The threads that keep the process, each with its place."""
    frames = sys._current_frames()
    found = []
    for thread in threading.enumerate():
        frame = frames.get(thread.ident or 0)
        if frame is not None and not thread.daemon and thread is not threading.main_thread():
            found.append(f"{thread.name} at {_place(frame)}")
    return found[:MOST_NAMED]
