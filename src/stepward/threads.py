"""Threads for operations and local steps that are plain functions; nothing can stop a thread but its own end."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Any

Work = tuple["Future[Any]", Callable[[], Any]]


class Threads:
    """Runs functions in up to ``count`` threads, each in a copy of the caller's context.

    The threads are daemons, which those of the standard library's pools are not: one that never ends must not
    keep its process from ending.
    """

    def __init__(self, count: int, name: str) -> None:
        self._count = count
        self._name = name
        self._work: SimpleQueue[Work | None] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._started = 0

    def start(self, fn: Callable[[], Any]) -> Future[Any]:
        """The result of ``fn`` to come; cancelled once it runs, it is thrown away while the thread goes on."""
        context = contextvars.copy_context()
        result: Future[Any] = Future()
        self._work.put((result, lambda: context.run(_guarded, fn)))
        if not self._idle.acquire(blocking=False) and self._started < self._count:
            self._started += 1
            threading.Thread(target=self._serve, name=f"{self._name}_{self._started}", daemon=True).start()
        return result

    def close(self) -> None:
        """Wait for no thread: those still running end on their own."""
        while True:
            try:
                work = self._work.get_nowait()
            except Empty:
                break
            if work is not None:
                work[0].cancel()
        for _ in range(self._started):
            self._work.put(None)

    def _serve(self) -> None:
        while (work := self._work.get()) is not None:
            _perform(*work)
            del work  # nothing of a call may outlive it here
            self._idle.release()


def _perform(future: Future[Any], fn: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = fn()
    except BaseException as error:  # whatever it raises belongs to whoever waits
        future.set_exception(error)
    else:
        future.set_result(result)


def _guarded(fn: Callable[[], Any]) -> Any:
    try:
        return fn()
    except StopIteration as error:
        # No future can carry it; coroutines turn it into a RuntimeError likewise.
        raise RuntimeError(f"function raised StopIteration: {error}") from error
    except KeyboardInterrupt as error:
        # Raised by the function itself, not by a user: signals reach the main thread alone.
        raise RuntimeError("function raised KeyboardInterrupt") from error
