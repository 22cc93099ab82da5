"""Pruning: the audit's oldest acts and acknowledged alerts, read before they are deleted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from stepward.model.records import Alert, Audit


class AuditedAct(Struct, frozen=True):
    """An act of the audit with its hash, which follows from the act before it."""

    audit: Audit
    hash: bytes


class OldRecords(Struct, frozen=True):
    """What one transaction prunes: acts from the beginning of the audit without a gap, and acknowledged alerts."""

    acts: Sequence[AuditedAct]
    alerts: Sequence[Alert]


class PruningStore(Protocol):
    """What is read before the audit and the alerts are pruned; bounded in rows and bytes."""

    async def old_records(self, before: float) -> OldRecords:
        """The acts at the beginning of the audit, and the alerts acknowledged, before ``before``; oldest first."""
        ...
