"""Slots under the limits of Agents, which this process leases from the store for its own Agents.

A call needs a slot, and slots are leased several at once: a call costs no statement. Before the slots in the store
become fewer, this process has lowered its own bound; its bound rises only after the store has granted more. So what
runs here is never more than what the store counts for this instance, whatever becomes of a commit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from stepward.agent.runner import AgentRunner
from stepward.host.actors.agent_actors import AgentActors
from stepward.host.assembly import Parts
from stepward.model.limits.flow_limit import FlowLimit, agent_limit
from stepward.model.limits.slot_shares import SlotClaim, SlotLease, fair_slots

SURPLUS_LOOK = 0.1
"""Seconds until the next look while calls run in slots that another instance is to have."""
WANTING_LOOK = 0.5
"""Seconds until the next look while this instance has fewer slots than its fair share."""
RENEW_BELOW = 0.6
"""Fraction of a lease: with less of it left, the lease on slots is renewed."""


class AgentSlots:
    """Keeps the slots of this process's Agents; ``demand`` is that of the Scheduler here, None where all are asked."""

    def __init__(
        self, parts: Parts, actors: AgentActors, demand: Callable[[], Mapping[str, int]], *, is_shared: bool
    ) -> None:
        self._parts = parts
        self._actors = actors
        self._demand = demand
        self._is_shared = is_shared
        self._lease = parts.settings.lease
        self.patience = float("inf")
        """Seconds until the next look is due."""
        self._is_draining = False
        self._looking = asyncio.Lock()
        """One look at a time: two answers of the store in the wrong order would leave a bound that is too high."""

    async def look(self, limits: Sequence[FlowLimit]) -> bool:
        """Lease what is due under these limits; whether room has changed. Raises StoreError."""
        if not self._actors.runners:
            return False
        async with self._looking:
            before = self._bounds()
            await self._look({limit.name: limit for limit in limits})
            return before != self._bounds()

    async def give_back(self, limits: Sequence[FlowLimit]) -> None:
        """Lease none any more: the slots of calls that end are given back. Raises StoreError."""
        self._is_draining = True
        await self.look(limits)

    def is_out(self, agent: str) -> bool:
        """Whether an Agent has no slot here under its limit."""
        runner = self._actors.runners.get(agent)
        return runner is not None and runner.is_limited and runner.capacity == 0

    def _bounds(self) -> list[int]:
        return [runner.capacity for runner in self._actors.runners.values()]

    async def _look(self, limits: Mapping[str, FlowLimit]) -> None:
        self.patience = float("inf")
        caps = {name: _cap(limits, name) for name in self._actors.runners}
        for name, cap in caps.items():
            if cap is None and self._actors.runners[name].is_limited:
                self._actors.runners[name].allow(None)
        if any(cap is not None for cap in caps.values()):
            await self._lease_slots({name: cap for name, cap in caps.items() if cap is not None})

    async def _lease_slots(self, caps: Mapping[str, int]) -> None:
        leases = await self._parts.store.host.slots()
        instance, now = self._actors.instance, self._parts.store.now()
        claims = []
        for name, cap in caps.items():
            of_agent = [lease for lease in leases if lease.agent == name]
            claim = self._claim(name, cap, of_agent, now)
            if claim is not None:
                claims.append(claim)
        if not claims:
            return
        given = await self._parts.store.host.lease_slots(instance, claims)
        if self._actors.instance == instance:
            for name, slots in given.items():
                self._actors.runners[name].allow(slots, now + self._lease)

    def _claim(self, name: str, cap: int, leases: Sequence[SlotLease], now: float) -> SlotClaim | None:
        """The claim for an Agent, whose bound here is lowered to it; None where nothing is due."""
        runner, instance = self._actors.runners[name], self._actors.instance
        claim = self._wish(runner, now)
        own = next((lease for lease in leases if lease.instance == instance), None)
        others = [lease for lease in leases if lease.instance != instance]
        fair = fair_slots(cap, [*others, _lease_of(claim, instance)], now)[instance]
        held = 0 if own is None or not runner.is_limited else runner.capacity
        runner.allow(min(held, fair), runner.slots_until)
        kept = max(runner.in_flight, runner.capacity)
        goal = max(kept, min(fair, max(0, cap - sum(lease.slots for lease in others))))
        self._hurry(fair, kept, goal)
        if own is not None and own.slots == goal and self._stands(own, claim, others, now):
            return None
        return SlotClaim(agent=name, wanted=claim.wanted, most=claim.most, busy=kept, until=claim.until)

    def _wish(self, runner: AgentRunner, now: float) -> SlotClaim:
        agent = runner.agent
        longest = max((each.complete_seconds or 0.0 for each in agent.operations.values()), default=0.0)
        until = self._lease + max(now + longest, runner.latest_end)
        if self._is_draining:
            return SlotClaim(agent=agent.name, wanted=0, most=0, busy=0, until=until)
        wanted = agent.concurrency
        if not self._is_shared:
            wanted = min(wanted, max(runner.in_flight, self._demand().get(agent.name, 0)))
        return SlotClaim(agent=agent.name, wanted=wanted, most=agent.concurrency, busy=0, until=until)

    def _stands(self, own: SlotLease, claim: SlotClaim, others: Sequence[SlotLease], now: float) -> bool:
        """Whether the row says enough of what this instance wants, and for long enough."""
        is_wish = own.most == claim.most and (own.wanted == claim.wanted or not any(each.alive for each in others))
        return is_wish and claim.until - own.until < self._lease * (1 - RENEW_BELOW)

    def _hurry(self, fair: int, kept: int, goal: int) -> None:
        if kept > fair:
            self.patience = min(self.patience, SURPLUS_LOOK)
        elif goal < fair:
            self.patience = min(self.patience, WANTING_LOOK)


def _cap(limits: Mapping[str, FlowLimit], agent: str) -> int | None:
    limit = limits.get(agent_limit(agent))
    return None if limit is None else limit.cap


def _lease_of(claim: SlotClaim, instance: str) -> SlotLease:
    return SlotLease(
        agent=claim.agent, instance=instance, slots=0, wanted=claim.wanted, most=claim.most, until=claim.until
    )
