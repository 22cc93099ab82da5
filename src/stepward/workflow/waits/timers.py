"""The timers of a run: a heap that the engine asks which are due; nothing fires by itself."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from contextvars import Context
from typing import Any

from stepward.durations import LONGEST
from stepward.workflow.event_loop.futures import Timer

PRUNE_FROM = 64


class Timers:
    """Pending timers in order of (instant, number)."""

    __slots__ = ("_cancelled", "_heap", "count")

    def __init__(self) -> None:
        self._heap: list[Timer] = []
        self._cancelled = 0
        self.count = 0
        """How many timers the run ever made."""

    def make(
        self,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        context: Context,
        now: float,
        delay: float,
    ) -> Timer:
        """A timer that is not pending yet; delays are clamped to ten years."""
        self.count += 1
        delay = min(max(0.0, float(delay)), LONGEST)
        return Timer(
            callback,
            args,
            context,
            at=now + delay,
            delay=delay,
            number=self.count,
            cancelled=self._prune,
        )

    def add(self, timer: Timer) -> None:
        """Let ``timer`` become due."""
        heapq.heappush(self._heap, timer)

    def next_at(self) -> float | None:
        """When the next timer is due."""
        heap = self._heap
        while heap and heap[0].callback is None:
            heapq.heappop(heap)
            self._cancelled -= 1
        return heap[0].at if heap else None

    def pop_due(self, now: float, newest: int) -> Timer | None:
        """Remove and return the first timer due at ``now`` that is numbered ``newest`` or lower."""
        at = self.next_at()
        if at is None or at > now or self._heap[0].number > newest:
            return None
        return heapq.heappop(self._heap)

    def clear(self) -> None:
        """Forget every timer."""
        self._heap.clear()

    def _prune(self) -> None:
        self._cancelled += 1
        if self._cancelled > PRUNE_FROM and self._cancelled * 2 > len(self._heap):
            self._heap = [timer for timer in self._heap if timer.callback is not None]
            heapq.heapify(self._heap)
            self._cancelled = 0
