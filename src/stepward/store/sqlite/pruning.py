"""Pruning on the rows: the oldest acts of the audit and acknowledged alerts are read, and deleted once archived."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from stepward.store import rows
from stepward.store.contract import AuditedAct, OldRecords
from stepward.store.contract.retention import PAGE_BYTES, PAGE_ROWS
from stepward.store.queries import load_queries
from stepward.store.rules import verdicts
from stepward.store.rules.audit_chain import pruned_audit, pruned_part
from stepward.store.sqlite import journal
from stepward.store.sqlite.connection import Connection
from stepward.store.sqlite.rows import FRAGMENTS

Q = load_queries(__package__, "pruning.sql", FRAGMENTS)


def acts(connection: Connection, after: int) -> list[AuditedAct]:
    """A page of the audit behind the act of that number."""
    return [rows.act(row) for row in connection.rows(Q["acts"], (after, PAGE_ROWS, PAGE_BYTES))]


def old_records(connection: Connection, before: float) -> OldRecords:
    """Implements ``PruningStore.old_records``."""
    alerts = [rows.alert(row) for row in connection.rows(Q["old_alerts"], (before, PAGE_ROWS))]
    return OldRecords(verdicts.prunable(acts(connection, 0), before), alerts)


def prune(connection: Connection, records: OldRecords, actor: str, now: float) -> int:
    """Delete what is still there of them, and audit it; how many rows."""
    numbers = msgspec.json.encode([alert.number for alert in records.alerts]).decode()
    alerts = connection.change(Q["prune_alerts"], (numbers,))
    acts = _still_first(connection, records.acts)
    if not acts and not alerts:
        return 0
    # Written before the others are deleted: the next act follows from the newest one, which must stay.
    journal.write_audits(connection, [pruned_audit(actor, acts, alerts)], now)
    for last in acts[-1:]:
        connection.change(Q["prune_acts"], (last.audit.number,))
    return len(acts) + alerts


def _still_first(connection: Connection, acts: Sequence[AuditedAct]) -> Sequence[AuditedAct]:
    if not acts:
        return acts
    return pruned_part(acts, *connection.rows(Q["beginning"], (acts[-1].audit.number,))[0])
