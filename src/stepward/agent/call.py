"""The calls that an Agent instance holds: each from its delivery to its reply, in a slot of its own."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Iterator
from typing import Any

from stepward.model.failures import FailureConverter
from stepward.model.live_values import WriteBuffer
from stepward.model.messages.requests import Progress, Reply, Request
from stepward.transport.contract import Delivery

CallKey = tuple[str, int, str, bool]
"""Task, run and key of a step, and whether it is undone."""


class Call:
    """What the runner knows of one request that it holds."""

    __slots__ = (
        "beaten_at",
        "began_at",
        "calls",
        "delivery",
        "dropped",
        "ended",
        "failures",
        "leased_until",
        "maybe_done",
        "request",
        "revoked",
        "started",
        "step",
        "task",
        "thread",
        "untold",
        "written",
    )

    def __init__(self, request: Request, delivery: Delivery, failures: FailureConverter) -> None:
        self.request = request
        self.step: CallKey = (request.task, request.run, request.key, request.undo)
        self.delivery = delivery
        self.failures = failures
        self.leased_until = delivery.leased_until
        """Until then no other Agent is given the request."""
        self.written: list[WriteBuffer] = []
        """The values that the present call of the function wrote; empty for none."""
        self.calls = 0
        """How often the function was called within this attempt."""
        self.maybe_done = False
        """Whether one of those calls failed and may have acted all the same."""
        self.began_at: float | None = None
        """When work on it began, where that is measured."""
        self.started = False
        self.dropped = False
        """The Scheduler no longer waits for it: its result is discarded."""
        self.revoked = False
        """Its step was given up: a reply follows once nothing of it runs any more."""
        self.ended = False
        self.untold: Progress | None = None
        """The latest progress that its code reported and that was not published yet."""
        self.beaten_at = float("-inf")
        """When a heartbeat of it was last passed on."""
        self.task: asyncio.Task[None] | None = None
        self.thread: concurrent.futures.Future[Any] | None = None

    def completed(self, output: bytes) -> Reply:
        """The function returned."""
        written = self.written[0].encoded() if self.written else None
        return self.request.completed(output, calls=self.calls, written=written)

    def deferred(self) -> Reply:
        """The function has done its part; the step is finished from outside."""
        return self.request.deferred(calls=self.calls)

    def failed(self, error: BaseException) -> Reply:
        """Repeating is pointless."""
        return self.request.failed(self.failures.convert(error), maybe_done=self.maybe_done, calls=self.calls)

    def gave_up(self, error: BaseException) -> Reply:
        """This attempt got nowhere; another may."""
        return self.request.gave_up(self.failures.convert(error), maybe_done=self.maybe_done, calls=self.calls)


class Slots:
    """``capacity`` slots; a call keeps its own until nothing of it runs any more."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        """At most so many calls; what the limit of all instances leaves to this one may be fewer."""
        self._held: set[Call] = set()
        self._steps: dict[CallKey, Call] = {}
        self._waiters: list[asyncio.Future[None]] = []

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[Call]:
        return iter(tuple(self._held))

    @property
    def room(self) -> int:
        """How many more calls may be held."""
        return max(0, self.capacity - len(self._held))

    @property
    def stuck(self) -> int:
        """How many are lost to calls that went past their deadline and do not stop."""
        return sum(call.dropped for call in self._held)

    def unbegun(self) -> Iterator[Call]:
        """The calls whose function was not called yet: nothing has happened for them."""
        return (call for call in self if not (call.calls or call.thread or call.dropped or call.ended))

    def count_unbegun(self) -> int:
        """How many of them there are."""
        return sum(1 for _ in self.unbegun())

    def find(self, task: str, run: int, key: str, undo: bool) -> Call | None:
        """The call that works on that step."""
        return self._steps.get((task, run, key, undo))

    def hold(self, call: Call) -> None:
        """Take a slot for ``call``."""
        self._held.add(call)
        self._steps[call.step] = call

    def resize(self, capacity: int) -> None:
        """Hold at most so many calls from now on; those that are held stay."""
        self.capacity = capacity
        if self._waiters:
            self._wake()

    def release(self, call: Call) -> None:
        """Give the slot of ``call`` back."""
        self._held.discard(call)
        if self._steps.get(call.step) is call:
            del self._steps[call.step]
        if self._waiters:
            self._wake()

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def released(self) -> None:
        """Wait for the next slot to be given back."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        await waiter

    async def emptied(self) -> None:
        """Wait until nothing is held."""
        while self._held:
            await self.released()
