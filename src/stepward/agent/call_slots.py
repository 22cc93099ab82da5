"""The calls that an Agent instance runs at once: at most its capacity, each in a slot of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from stepward.agent.call import Call, CallKey


class Slots:
    """``capacity`` slots; a call keeps its own until nothing of it runs any more."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        """At most so many calls; what the limit of all instances leaves to this one may be fewer."""
        self._held: dict[Call, None] = {}
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
        self._held[call] = None
        self._steps[call.step] = call

    def resize(self, capacity: int) -> None:
        """Hold at most so many calls from now on; those that are held stay."""
        self.capacity = capacity
        if self._waiters:
            self._wake()

    def release(self, call: Call) -> None:
        """Give the slot of ``call`` back."""
        self._held.pop(call, None)
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
