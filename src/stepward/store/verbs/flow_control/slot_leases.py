"""Slots that instances lease in the store under the limit of an Agent.

The row of a limit is locked while its slots are divided, so that all slots together never exceed it.
"""

from __future__ import annotations

from collections.abc import Sequence

from stepward.model.limits.flow_limit import agent_limit
from stepward.model.limits.slot_shares import SlotClaim, SlotLease, granted
from stepward.store import rows
from stepward.store.verbs.connection import VerbConnection


async def slots(connection: VerbConnection) -> list[SlotLease]:
    """The slots of all instances."""
    return [rows.slot_lease(row) for row in await connection.rows("limits.slots")]


async def lease_slots(
    connection: VerbConnection, instance: str, claims: Sequence[SlotClaim], now: float
) -> tuple[dict[str, int | None], bool]:
    """Leases slots; returns by Agent how many calls the instance may make at once, None where there is no limit, and
    whether others may get more now.

    An instance that is dead gets none, and keeps those that it has until its calls are over.
    """
    given, leaves = dict[str, int | None](), False
    for claim in sorted(claims, key=lambda claim: claim.agent):
        given[claim.agent], fewer = await _lease(connection, instance, claim, now)
        leaves |= fewer
    return given, leaves


async def _lease(connection: VerbConnection, instance: str, claim: SlotClaim, now: float) -> tuple[int | None, bool]:
    limit = await connection.row("limits.locked", agent_limit(claim.agent))
    if await connection.row("limits.living", instance) is None:
        return 0, False
    cap = None if limit is None else rows.flow_limit(limit).cap
    if cap is None:
        await connection.change("limits.give_up", claim.agent, instance)
        return None, False
    leases = [rows.slot_lease(row) for row in await connection.rows("limits.slots_of", claim.agent)]
    count = granted(cap, leases, claim, instance, now)
    if claim.most or count:
        await connection.change("limits.lease", claim.agent, instance, count, claim.wanted, claim.most, claim.until)
    else:
        await connection.change("limits.give_up", claim.agent, instance)
    return count, any(lease.instance == instance and lease.slots > count for lease in leases)
