"""When a Scheduler must look again: timers of workflows, repeats, and requests that stay unanswered."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator

from stepward.scheduler.tasks.active_task import StepId

WATCH_AFTER = 1.0
"""Seconds after its dispatch at which an unanswered request is shown to the Supervisor."""
SPARE = 64


class TaskTimers:
    """One heap for what is due, one queue for what is watched: no timer of the event loop's per task or step."""

    def __init__(self) -> None:
        self._due: list[tuple[float, str]] = []
        self._instants: dict[str, float] = {}
        """The earliest instant of each task; later ones follow from looking then."""
        self._sent: deque[tuple[float, str, StepId, int]] = deque()

    def at(self, instant: float, task: str) -> None:
        """Look at the task again at that instant, or earlier if that was asked for."""
        known = self._instants.get(task)
        if known is None or instant < known:
            self._instants[task] = instant
            heapq.heappush(self._due, (instant, task))

    def leave(self, task: str) -> None:
        """Look at the task no more; what it leaves in the heap goes when due, or when too much has piled up."""
        if self._instants.pop(task, None) is not None and len(self._due) > 2 * len(self._instants) + SPARE:
            self._due = [(instant, task) for task, instant in self._instants.items()]
            heapq.heapify(self._due)

    def sent(self, now: float, task: str, step: StepId, attempt: int) -> None:
        """A request has left; it is due to be watched a second later."""
        self._sent.append((now + WATCH_AFTER, task, step, attempt))

    def due(self, now: float) -> Iterator[str]:
        """Tasks to look at now."""
        while self._due and self._due[0][0] <= now:
            instant, task = heapq.heappop(self._due)
            if self._instants.get(task) == instant:
                del self._instants[task]
                yield task

    def unanswered(self, now: float) -> Iterator[tuple[str, StepId, int]]:
        """Requests that left a second ago; the caller knows which were answered."""
        while self._sent and self._sent[0][0] <= now:
            yield self._sent.popleft()[1:]

    def next(self) -> float | None:
        """The next instant at which something is due."""
        instants = [entry[0][0] for entry in (self._due, self._sent) if entry]
        return min(instants, default=None)
