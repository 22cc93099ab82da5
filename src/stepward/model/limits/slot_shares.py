"""The slots under an Agent's limit: how they are divided between the instances of the Agent.

A slot is the right to one call. An instance leases slots from the store, several at once, and a call needs no statement
of its own. The slots of all instances, dead ones included until their calls are over, are never more than the limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

TURN_SECONDS = 10.0
"""Seconds for which an instance keeps a slot that others want too, where there are fewer slots than instances."""


class SlotLease(Struct, frozen=True, kw_only=True):
    """The slots of an instance of an Agent."""

    agent: str
    instance: str
    slots: int
    wanted: int
    """How many it could use now."""
    most: int
    """How many it could use at all."""
    until: float
    """When the last call that it may have begun is over."""
    alive: bool = True


class SlotClaim(Struct, frozen=True, kw_only=True):
    """What an instance asks for at one Agent."""

    agent: str
    wanted: int
    most: int
    busy: int
    """Its calls that are not over: it keeps as many slots."""
    until: float


def granted(cap: int, leases: Iterable[SlotLease], claim: SlotClaim, instance: str, now: float) -> int:
    """How many slots an instance gets beside the leases of the others, its own among them or not."""
    others = [lease for lease in leases if lease.instance != instance]
    own = SlotLease(
        agent=claim.agent, instance=instance, slots=0, wanted=claim.wanted, most=claim.most, until=claim.until
    )
    free = max(0, cap - sum(lease.slots for lease in others))
    return max(claim.busy, min(free, fair_slots(cap, [*others, own], now)[instance]))


def fair_slots(cap: int, leases: Iterable[SlotLease], now: float) -> dict[str, int]:
    """The slots that each live instance should have, by max-min fairness: first what it wants, one at least, then the
    rest. Where there are fewer slots than instances, they take turns."""
    leases = sorted(leases, key=lambda lease: lease.instance)
    left = max(0, cap - sum(lease.slots for lease in leases if not lease.alive))
    live = [lease for lease in leases if lease.alive and lease.most]
    if 0 < left < len(live):
        turn = int(now // TURN_SECONDS) * left % len(live)
        live = live[turn:] + live[:turn]
    shares = {lease.instance: 0 for lease in leases if lease.alive}
    order = [lease.instance for lease in live]
    left = _fill(shares, order, {lease.instance: min(lease.most, max(1, lease.wanted)) for lease in live}, left)
    _fill(shares, order, {lease.instance: lease.most for lease in live}, left)
    return shares


def _fill(shares: dict[str, int], order: Sequence[str], bounds: Mapping[str, int], left: int) -> int:
    """Raise all shares alike, each up to its bound; what is left of what there was to give."""
    while left and (below := [instance for instance in order if shares[instance] < bounds[instance]]):
        each = left // len(below)
        for instance in below if each else below[:left]:
            added = min(max(each, 1), bounds[instance] - shares[instance])
            shares[instance] += added
            left -= added
    return left
