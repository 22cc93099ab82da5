"""Which files of Stepward run, in the order in which they are first entered."""

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
    """``files``: what was entered while it was on, relative to the package."""

    def __init__(self) -> None:
        self.files: list[str] = []
        self._seen: set[str] = set()
        self._is_on = False

    def begin(self) -> None:
        """Look from here on."""
        self._is_on = True

    def end(self) -> None:
        """Look no more."""
        self._is_on = False

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Hear of every call in this thread and in those that start."""
        threading.setprofile(self._heard)
        sys.setprofile(self._heard)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def _heard(self, frame: FrameType, event: str, _: Any) -> None:
        if not self._is_on or event != "call":
            return
        name = frame.f_code.co_filename
        if name.startswith(PACKAGE) and name not in self._seen:
            self._seen.add(name)
            self.files.append(name.removeprefix(PACKAGE))
