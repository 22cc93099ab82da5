"""Keeps the real world out of a simulation: a real sleep or a real thread raises at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn


@contextmanager
def real_world_forbidden() -> Iterator[None]:
    """Real sleeps and new threads raise RuntimeError meanwhile."""
    sleep, start = time.sleep, threading.Thread.start
    time.sleep = _forbidden
    threading.Thread.start = _forbidden  # type: ignore[assignment,method-assign]
    try:
        yield
    finally:
        time.sleep = sleep
        threading.Thread.start = start  # type: ignore[method-assign]


def _forbidden(*args: Any) -> NoReturn:
    raise RuntimeError("simulation: expected virtual time and one thread, found a real sleep or thread")
