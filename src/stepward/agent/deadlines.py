"""The deadlines of all running calls: one heap under one timer of the loop, cheaper than a timer each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from heapq import heapify, heappop, heappush

from stepward.agent.call import Call

SPARE = 64


class Deadlines:
    """Tells ``passed`` of each call whose deadline has come; ``deadline`` says where it stands now."""

    def __init__(
        self, *, now: Callable[[], float], deadline: Callable[[Call], float], passed: Callable[[Call], None]
    ) -> None:
        self._now = now
        self._deadline = deadline
        self._passed = passed
        self._heap: list[tuple[float, int, Call]] = []
        self._number = 0
        self._live = 0
        self._timer: asyncio.TimerHandle | None = None
        self._fires_at = float("inf")

    def add(self, call: Call) -> None:
        """Watch ``call`` until ``forget``."""
        self._live += 1
        self._push(call)

    def forget(self) -> None:
        """A watched call ended (``call.ended``); its entry goes when due, or when too many have piled up."""
        self._live -= 1
        if len(self._heap) > 2 * self._live + SPARE:
            self._heap = [entry for entry in self._heap if not entry[2].ended]
            heapify(self._heap)

    def close(self) -> None:
        """Let go of the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._fires_at = float("inf")

    def _push(self, call: Call) -> None:
        at = self._deadline(call)
        self._number += 1
        heappush(self._heap, (at, self._number, call))
        if at < self._fires_at:
            self._arm(at)

    def _arm(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._fires_at = at
        self._timer = asyncio.get_running_loop().call_later(max(0.0, at - self._now()), self._fire)

    def _fire(self) -> None:
        self._timer, self._fires_at = None, float("inf")
        now = self._now()
        while self._heap and (self._heap[0][0] <= now or self._heap[0][2].ended):
            _, _, call = heappop(self._heap)
            if call.ended:
                continue
            if self._deadline(call) <= now:
                self._passed(call)
            else:
                self._push(call)
        if self._heap and self._heap[0][0] < self._fires_at:
            self._arm(self._heap[0][0])
