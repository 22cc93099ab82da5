"""Threads for operations and local steps that are plain functions; a thread cannot be stopped from outside."""

from __future__ import annotations

import contextvars
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any

from stepward.error_messages import RaisedInstead

ThreadWork = tuple["Future[Any]", Callable[[], Any]]


class Threads:
    """Runs functions in up to ``count`` threads, each in a copy of the caller's context.

    The threads are daemons, unlike those of the standard library's pools: one that never ends must not keep its process
    from ending.
    """

    def __init__(self, count: int, name: str) -> None:
        self._count = self._most = count
        self._name = name
        self._work: SimpleQueue[ThreadWork | None] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._started = 0

    def start(self, fn: Callable[[], Any]) -> Future[Any]:
        """A future for the result of ``fn``; if it is cancelled while running, the result is dropped and the thread
        goes on."""
        context = contextvars.copy_context()
        result: Future[Any] = Future()
        self._work.put((result, lambda: context.run(_guarded, fn)))
        if not self._idle.acquire(blocking=False) and self._started < self._count:
            self._start_thread()
        return result

    def replace(self, lost: int) -> None:
        """Add threads in place of ``count`` that do not return; twice the pool's size in all at most."""
        self._count = self._most + min(lost, self._most)
        while self._started < self._count and not self._work.empty():
            self._start_thread()

    def close(self) -> None:
        """Return without waiting; running threads end by themselves."""
        while True:
            try:
                work = self._work.get_nowait()
            except Empty:
                break
            if work is not None:
                work[0].cancel()
        for _ in range(self._started):
            self._work.put(None)

    def _start_thread(self) -> None:
        self._started += 1
        threading.Thread(target=self._serve, name=f"{self._name}_{self._started}", daemon=True).start()

    def _serve(self) -> None:
        while (work := self._work.get()) is not None:
            _perform(*work)
            del work  # References of a call must not outlive it here.
            self._idle.release()


def _perform(future: Future[Any], fn: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = fn()
    except BaseException as error:  # The caller's future gets whatever it raises.
        future.set_exception(error)
    else:
        future.set_result(result)


def performed() -> dict[str, list[FrameType]]:
    """By thread name, the frames of each function that has not returned, innermost first."""
    frames = sys._current_frames()
    found = {thread.name: _within(frames.get(thread.ident or 0)) for thread in threading.enumerate()}
    return {name: within for name, within in found.items() if within}


def _within(frame: FrameType | None) -> list[FrameType]:
    """The frames of the function that ``_perform`` called; none for an idle or foreign thread."""
    found: list[FrameType] = []
    while frame is not None and frame.f_code is not _perform.__code__:
        found.append(frame)
        frame = frame.f_back
    return found if frame is not None else []


def _guarded(fn: Callable[[], Any]) -> Any:
    try:
        return fn()
    except StopIteration as error:
        # No future can hold a StopIteration; coroutines turn it into a RuntimeError likewise.
        raise RuntimeError(f"function raised StopIteration: {error}") from error
    except (KeyboardInterrupt, GeneratorExit) as error:
        # Raised by the function itself: signals reach the main thread only, and nothing closes a thread.
        raise RaisedInstead(error) from error
