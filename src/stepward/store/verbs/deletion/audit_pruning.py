"""Pruning: the oldest acts of the audit and acknowledged alerts are read, and deleted once archived."""

from __future__ import annotations

from collections.abc import Sequence

from stepward.store import rows
from stepward.store.contract import AuditedAct, AuditHead, OldRecords
from stepward.store.contract.by_subject.retention import PAGE_BYTES, PAGE_ROWS
from stepward.store.rules import deletion_bounds
from stepward.store.rules.audit.audit_chain import pruned_audit, pruned_part
from stepward.store.verbs import alerts_and_audit
from stepward.store.verbs.connection import VerbConnection


async def acts(connection: VerbConnection, after: int) -> list[AuditedAct]:
    """A page of the audit after the act with that number."""
    return [rows.act(row) for row in await connection.rows("pruning.acts", after, PAGE_ROWS, PAGE_BYTES)]


async def old_records(connection: VerbConnection, before: float) -> OldRecords:
    """Implements ``PruningStore.old_records``."""
    alerts = [rows.alert(row) for row in await connection.rows("pruning.old_alerts", before, PAGE_ROWS)]
    old = deletion_bounds.prunable_acts(await acts(connection, 0), before)
    return OldRecords(old, alerts, await head(connection) if old or alerts else None)


async def head(connection: VerbConnection) -> AuditHead | None:
    """Implements ``OperatorStore.audit_head``."""
    newest = await connection.row("pruning.head")
    return None if newest is None else AuditHead(*newest)


async def prune(connection: VerbConnection, records: OldRecords, actor: str, now: float) -> int:
    """Deletes those of the records that still exist, and audits it; returns the number of rows."""
    numbers = [alert.number for alert in records.alerts]
    # No act opens an acknowledged alert again, so all of them go.
    await connection.change("pruning.prune_receipts", numbers)
    alerts = await connection.change("pruning.prune_alerts", numbers)
    await connection.lock_chain()
    acts = await _still_first(connection, records.acts)
    if not acts and not alerts:
        return 0
    # Written before the others are deleted: the next act follows from the newest one, which must stay.
    await alerts_and_audit.link(connection, alerts_and_audit.audit_rows([pruned_audit(actor, acts, alerts)], now))
    for last in acts[-1:]:
        await connection.change("pruning.prune_acts", last.audit.number)
    return len(acts) + alerts


async def _still_first(connection: VerbConnection, acts: Sequence[AuditedAct]) -> Sequence[AuditedAct]:
    if not acts:
        return acts
    row = await connection.row("pruning.beginning", acts[-1].audit.number)
    return pruned_part(acts, *(row or (None, None)))
