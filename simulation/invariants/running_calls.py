"""The calls of an Agent that run at once (S37): those of dead processes count too, until their complete-by.

A request of a process that died may be under way at its service, so that it counts like any other.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from simulation.planted_bugs.planting import bug, put
from stepward.model.limits.slot_shares import fair_slots
from stepward.store.verbs.flow_control import slot_leases as store_slots

LIMITED_FROM = 320_000_000
"""The first seed whose world may have an Agent with a limit: those before it go on as they always did."""
LIMITED = "ship"
"""The Agent that has it."""
SET = "insert into stepward_flow_limit (name, concurrency, set_at, set_by) values (?, ?, 0, 'people')"


class Caller(Protocol):
    """The process that makes a call."""

    dead: bool


@dataclass(slots=True, eq=False)
class RunningCall:
    """A call, and when it is over at the latest."""

    complete_by: float
    ended: bool = False


class RunningCalls:
    """Counts the calls of the Agent that has a limit; ``limit`` is None where none has."""

    def __init__(
        self,
        seed: int,
        now: Callable[[], float],
        violated: Callable[[str, str], None],
        reached: Callable[[str], None],
    ) -> None:
        chance = random.Random(f"{seed}/limits")
        self.limit = chance.choice((1, 2, 3)) if seed >= LIMITED_FROM and chance.random() < 0.8 else None
        self._now = now
        self._violated = violated
        self._reached = reached
        self._running: list[RunningCall] = []

    @contextmanager
    def running(self, agent: str, key: str, complete_by: float, caller: Caller | None) -> Iterator[None]:
        """A call runs for as long as the block, or to its complete-by if its process dies."""
        if agent != LIMITED or self.limit is None:
            yield
            return
        call = RunningCall(complete_by)
        self._begin(call, key)
        try:
            yield
        finally:
            call.ended = caller is None or not caller.dead

    def _begin(self, call: RunningCall, key: str) -> None:
        now = self._now()
        self._running = [each for each in self._running if not each.ended and each.complete_by > now]
        self._running.append(call)
        if len(self._running) == self.limit:
            self._reached("as many calls ran at once as may")
        if self.limit is not None and len(self._running) > self.limit:
            self._violated("S37", f"the call of {key} is call {len(self._running)} of those that run, {self.limit} may")


@bug
def slots_leased_twice(stack: ExitStack) -> None:
    """An instance gets its share, whatever the others still hold."""

    def granted(cap: int, leases: Any, claim: Any, instance: str, now: float) -> int:
        own = [lease for lease in leases if lease.instance == instance]
        return max(int(claim.busy), fair_slots(cap, own, now).get(instance, cap))

    put(stack, store_slots, "granted", granted)
