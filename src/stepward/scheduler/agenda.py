"""When a Scheduler must look again: timers of workflows, repeats, and requests that stay unanswered."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator

from stepward.scheduler.resident import StepId

WATCH_AFTER = 1.0
"""Seconds after its dispatch at which an unanswered request is shown to the Supervisor."""


class Agenda:
    """One heap for what is due, one queue for what is watched: no timer of the event loop's per task or step."""

    def __init__(self) -> None:
        self._due: list[tuple[float, str]] = []
        self._sent: deque[tuple[float, str, StepId, int]] = deque()

    def at(self, instant: float, task: str) -> None:
        """Look at the task again at that instant; too often is harmless."""
        heapq.heappush(self._due, (instant, task))

    def sent(self, now: float, task: str, step: StepId, attempt: int) -> None:
        """A request has left; it is due to be watched a second later."""
        self._sent.append((now + WATCH_AFTER, task, step, attempt))

    def due(self, now: float) -> Iterator[str]:
        """Tasks to look at now."""
        while self._due and self._due[0][0] <= now:
            yield heapq.heappop(self._due)[1]

    def unanswered(self, now: float) -> Iterator[tuple[str, StepId, int]]:
        """Requests that left a second ago; the caller knows which were answered."""
        while self._sent and self._sent[0][0] <= now:
            yield self._sent.popleft()[1:]

    def next(self) -> float | None:
        """The next instant at which something is due."""
        instants = [entry[0][0] for entry in (self._due, self._sent) if entry]
        return min(instants, default=None)
