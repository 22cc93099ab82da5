"""The leases of calls, which are extended, and their deadlines, at which they are stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from heapq import heapify, heappop, heappush

from stepward.agent.bounded_close import cancel_background
from stepward.agent.call import Call
from stepward.agent.call_slots import Slots
from stepward.errors import TransportError
from stepward.events import Observers
from stepward.model.failures import stands_at
from stepward.transport.contract import Transport

SPARE = 64
"""Obsolete entries that the heap may hold beyond as many as are valid."""
EXTENSIONS_PER_LEASE = 3
AT_ONCE = 512
"""Most leases that are extended, and most deadlines that are looked at, before the event loop runs."""


class Deadlines:
    """The deadlines of all running calls: one heap under one timer of the loop, cheaper than a timer each.

    A call's deadline is the earliest of its complete-by, the end of its request's lease and ``lease_until``, the end of
    the instance's own. ``passed`` is given each call whose deadline has come.
    """

    def __init__(
        self, *, now: Callable[[], float], lease_until: Callable[[], float], passed: Callable[[Call], None]
    ) -> None:
        self._now = now
        self._lease_until = lease_until
        self._passed = passed
        self._heap: list[tuple[float, int, Call]] = []
        self._number = 0
        self._live = 0
        self._timer: asyncio.TimerHandle | None = None
        self._fires_at = float("inf")

    def of(self, call: Call) -> float:
        """When the call must be over, as things stand."""
        return min(call.request.complete_by, call.leased_until, self._lease_until())

    def is_late(self, call: Call) -> bool:
        """Whether the call's deadline has come."""
        now = self._now()
        return now >= call.leased_until or now >= call.request.complete_by or now >= self._lease_until()

    def add(self, call: Call) -> None:
        """Watch ``call`` until ``forget``."""
        self._live += 1
        self._number += 1
        at = min(call.request.complete_by, call.leased_until, self._lease_until())
        heappush(self._heap, (at, self._number, call))
        if at < self._fires_at:
            self._arm(at)

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

    def _arm(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._fires_at = at
        self._timer = asyncio.get_running_loop().call_later(max(0.0, at - self._now()), self._fire)

    def _fire(self) -> None:
        self._timer, self._fires_at = None, float("inf")
        now = self._now()
        for _ in range(AT_ONCE):
            if not self._heap or not (self._heap[0][0] <= now or self._heap[0][2].ended):
                break
            _, _, call = heappop(self._heap)
            if call.ended:
                continue
            if self.of(call) <= now:
                self._passed(call)
            else:
                self._live -= 1  # It counts already.
                self.add(call)
        if self._heap and self._heap[0][0] < self._fires_at:
            self._arm(self._heap[0][0])


def overrun(call: Call, now: float) -> dict[str, object]:
    """The fields of ``agent.overran``: which deadline passed, and at which line a coroutine of the application waits.

    The line of a function that runs in a thread is not known.
    """
    place = None if call.task is None else stands_at(call.task.get_coro())
    at = {} if place is None else {"at": call.failures.text(place)}
    return {"calls": call.calls, "deadline": "complete_by" if now >= call.request.complete_by else "lease", **at}


class RequestLeases:
    """Extends the leases of all held requests together, each third of a lease, up to their complete-by.

    ``revoked`` is given the calls whose request was withdrawn.
    """

    def __init__(
        self,
        transport: Transport,
        queue: str,
        slots: Slots,
        *,
        now: Callable[[], float],
        seconds: float,
        observers: Observers,
        revoked: Callable[[Call], None],
    ) -> None:
        self.seconds = seconds
        self._transport = transport
        self._queue = queue
        self._slots = slots
        self._now = now
        self._observers = observers
        self._revoked = revoked
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def keep(self) -> None:
        """Keep the leases on what is held."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self.seconds / EXTENSIONS_PER_LEASE, self._renew)

    def close(self) -> None:
        """Let all leases lapse."""
        cancel_background(self._timer, self._tasks)
        self._timer = None

    def extend(self, calls: list[Call]) -> None:
        """Extend the leases of these at once."""
        if calls:
            task = asyncio.get_running_loop().create_task(self._extended(calls))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _renew(self) -> None:
        self._timer = None
        if len(self._slots):
            self.keep()
            self.extend([call for call in self._slots if _runs_out(call)])

    async def _extended(self, calls: list[Call]) -> None:
        try:
            for first in range(0, len(calls), AT_ONCE):
                if first:
                    await asyncio.sleep(0)  # Queues in memory answer without a wait.
                if some := [call for call in calls[first : first + AT_ONCE] if not call.dropped]:
                    await self._extend(some)
        except TransportError as error:
            self._observers.emit("agent.transport_failed", queue=self._queue, verb="extend", error=str(error))

    async def _extend(self, calls: list[Call]) -> None:
        until = self._now() + self.seconds
        held = [(call, call.delivery) for call in calls]
        gone = await self._transport.extend(self._queue, [delivery for _, delivery in held], self.seconds)
        for call in calls:
            call.leased_until = until
        lost = {delivery.token for delivery in gone}
        for call, delivery in held:
            # Where another delivery took its place, that one was settled and the call is not revoked.
            if delivery.token in lost and call.delivery is delivery:
                self._revoked(call)


def _runs_out(call: Call) -> bool:
    return not call.dropped and call.leased_until < call.request.complete_by
