"""``audit --verify``: follows the chain of hashes from the oldest entry in the store to the newest."""

from __future__ import annotations

from stepward.errors import StepwardError
from stepward.store.contract import OperatorStore
from stepward.store.rules.audit.audit_chain import Verification

TRIES = 3
"""How often the audit is read while it is being pruned."""
SHOWN = 5


async def verified(store: OperatorStore) -> str:
    """One line about an intact audit. Raises StepwardError, with the places, for a broken one."""
    for _ in range(TRIES):
        chain = await _followed(store)
        if not chain.ended() or not await _is_pruned(store, chain):
            break
    if chain.breaks:
        raise StepwardError(_broken(chain.breaks))
    archived = "" if chain.archived_through is None else f", those up to number {chain.archived_through} are archived"
    return f"The audit is whole: {chain.count:,} acts{archived}."


async def _followed(store: OperatorStore) -> Verification:
    chain, after = Verification(), 0
    while acts := await store.acts(after):
        for act in acts:
            chain.add(act)
        after = acts[-1].audit.number
    return chain


async def _is_pruned(store: OperatorStore, chain: Verification) -> bool:
    """Whether it was pruned since it was read, so that the read was no snapshot."""
    acts = await store.acts(0)
    return bool(acts) and chain.first is not None and acts[0].audit.number > chain.first.audit.number


def _broken(numbers: list[int]) -> str:
    shown = ", ".join(str(number) for number in numbers[:SHOWN]) + (", …" if len(numbers) > SHOWN else "")
    return (
        f"audit: expected each act to follow from the one before it, found {len(numbers):,} that do not: "
        f"number {shown}; they were changed, or acts before them were removed: compare with a backup, and "
        "see who writes to the store"
    )
