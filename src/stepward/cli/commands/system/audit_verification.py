"""``audit verify``: follows the chain of hashes in the store and in an archive, and compares it with noted heads."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from stepward.errors import StepwardError
from stepward.store.contract import AuditHead, OperatorStore
from stepward.store.rules.audit.audit_verification import ChainBreak, Verification
from stepward.supervisor.archives.audit_reader import archived_acts, archived_heads

TRIES = 3
"""How often the audit is read while it is being pruned."""
SHOWN = 5


async def verified(store: OperatorStore, anchors: Iterable[AuditHead], archive: Path | None) -> str:
    """One line about an intact audit with all of ``anchors``; with an archive its beginning is followed there.

    Raises StepwardError, with the places, for a broken one.
    """
    if archive is None:
        chain = await _intact(store, anchors)
        where = "those up to number {} are archived"
    else:
        # The acts are read after the store, whose beginning they must reach, and the heads before: none is newer.
        chain = await _intact(store, {*anchors, *archived_heads(archive)})
        where = f"and those up to number {{}} in the archive, {_followed_archive(archive, chain):,}"
    archived = "" if chain.archived is None else ", " + where.format(chain.archived.number)
    return f"The audit is whole: {chain.count:,} acts{archived}."


async def followed(store: OperatorStore, anchors: Iterable[AuditHead] = ()) -> Verification:
    """The chain of the store, from its beginning to its head."""
    chain, after = Verification(anchors), 0
    while acts := await store.acts(after):
        for act in acts:
            chain.add(act)
        after = acts[-1].audit.number
    return chain


async def _intact(store: OperatorStore, anchors: Iterable[AuditHead]) -> Verification:
    for _ in range(TRIES):
        chain = await followed(store, anchors)
        if not chain.ended() or not await _is_pruned(store, chain):
            break
    _refuse_broken("audit", chain)
    return chain


async def _is_pruned(store: OperatorStore, chain: Verification) -> bool:
    """Whether it was pruned since it was read, so that the read was no snapshot."""
    acts = await store.acts(0)
    return bool(acts) and chain.first is not None and acts[0].audit.number > chain.first.audit.number


def _followed_archive(folder: Path, rest: Verification) -> int:
    """How many acts the archive has, of an intact chain from the very first act to the beginning of ``rest``."""
    ends = [] if rest.archived is None else [rest.archived]
    chain = Verification(ends, from_first=True, erased=rest.named)
    for act in archived_acts(folder):
        chain.add(act)
    chain.ended()
    _refuse_broken(f"archive {folder}", chain)
    return chain.count


def _refuse_broken(what: str, chain: Verification) -> None:
    """Raises StepwardError with the places where the chain is broken, or the heads that are missing."""
    if chain.breaks:
        raise StepwardError(
            f"{what}: expected each act to follow from the one before it, found {len(chain.breaks):,} that do not: "
            f"{_causes(chain.breaks)}: compare with a backup, and see who writes to the store"
        )
    if lost := chain.missing():
        shown = ", ".join(str(each.number) for each in lost[:SHOWN]) + (", …" if len(lost) > SHOWN else "")
        end = "no act at all" if chain.head is None else f"the newest act {chain.head.number}"
        raise StepwardError(
            f"{what}: expected the acts that were noted elsewhere, found those of number {shown} missing "
            f"or with another hash, and {end}: acts were removed from the end, or the chain was rewritten: compare "
            "with a backup"
        )


def _causes(breaks: list[ChainBreak]) -> str:
    return "; ".join(each.cause for each in breaks[:SHOWN]) + ("; …" if len(breaks) > SHOWN else "")
