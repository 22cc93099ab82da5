"""Local steps that went past their complete-by and do not stop: watched in their threads, and reported once."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from stepward.events import Observers
from stepward.model.messages.requests import Request

MOST_REPORTED = 10_000
"""Most attempts that are remembered as reported."""


class StuckSteps:
    """The functions that run in threads: one that is cancelled goes on, and is awaited no more."""

    def __init__(self, observers: Observers) -> None:
        self._observers = observers
        self._threads: dict[Future[Any], Request] = {}
        self._reported: set[tuple[str, int, str, int]] = set()

    def watch(self, thread: Future[Any], request: Request) -> None:
        """Know of a function in a thread until it returns."""
        self._threads[thread] = request
        thread.add_done_callback(lambda done: self._threads.pop(done, None))

    def in_threads(self, until: float) -> list[Request]:
        """The attempts that run in threads and whose complete-by was before ``until``."""
        return [request for request in list(self._threads.values()) if request.complete_by < until]

    def report(self, request: Request) -> None:
        """Report, once, that an attempt does not stop."""
        attempt = (request.task, request.run, request.key, request.attempt)
        if attempt in self._reported:
            return
        if len(self._reported) >= MOST_REPORTED:
            self._reported.clear()
        self._reported.add(attempt)
        self._observers.emit("scheduler.step_stuck", task=request.task_id, step=request.key, attempt=request.attempt)
