"""Which files of Stepward execute lines, in the order of the first line of each."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import stepward

PACKAGE = f"{Path(stepward.__file__).parent}/"


class Trace:
    """``files``: those of which a line was executed while the trace was on, relative to the package.

    A coroutine that only awaits another one executes no line when that one is resumed, and does not count.
    """

    def __init__(self) -> None:
        self.files: list[str] = []
        self._seen: set[str] = set()
        self._is_on = False

    def begin(self) -> None:
        """Record from here on."""
        self._is_on = True

    def end(self) -> None:
        """Record nothing more."""
        self._is_on = False

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Follow this thread and those that start meanwhile."""
        before = sys.gettrace()
        threading.settrace(self._entered)
        sys.settrace(self._entered)
        try:
            yield
        finally:
            sys.settrace(before)
            threading.settrace(None)

    def _entered(self, frame: FrameType, _event: str, _: Any) -> Any:
        name = frame.f_code.co_filename
        return self._executed if name.startswith(PACKAGE) and name not in self._seen else None

    def _executed(self, frame: FrameType, event: str, _: Any) -> Any:
        name = frame.f_code.co_filename
        if not self._is_on or event != "line" or name in self._seen:
            return self._executed
        self._seen.add(name)
        self.files.append(name.removeprefix(PACKAGE))
        return None
