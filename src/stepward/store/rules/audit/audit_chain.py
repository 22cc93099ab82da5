"""The audit as a chain of hashes, and what of an alert or act is written: alike in every store."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import msgspec

from stepward.model.records import Alert, Audit
from stepward.store.contract.retention import AuditedAct

FIRST_HASH = bytes(32)
PRUNED = "prune"
"""The act that tells up to which act the audit was archived and deleted, and that act's hash."""


class Pruned(msgspec.Struct, frozen=True, omit_defaults=True):
    """The details of a ``prune``."""

    acts: int
    alerts: int
    through: int | None = None
    hash: str = ""


def linked(previous: bytes, values: tuple[Any, ...]) -> bytes:
    """The hash of an act (its columns ``at`` to ``details``) that follows the one of ``previous``."""
    return sha256(previous + msgspec.json.encode(values)).digest()


def pruned_audit(actor: str, acts: Sequence[AuditedAct], alerts: int) -> Audit:
    """The act that tells what was archived and deleted: so many acknowledged alerts, and acts from the beginning."""
    pruned = Pruned(len(acts), alerts)
    if acts:
        pruned = Pruned(len(acts), alerts, acts[-1].audit.number, acts[-1].hash.hex())
    return Audit(actor=actor, act=PRUNED, details=msgspec.json.encode(pruned))


def pruned_part(acts: Sequence[AuditedAct], first: bytes | None, last: bytes | None) -> Sequence[AuditedAct]:
    """The acts if they still stand at the beginning of the audit, as the hashes found there show; else none."""
    return acts if (first, last) == (acts[0].hash, acts[-1].hash) else ()


class Verification:
    """Follows the chain, act after act, and notes where it is broken.

    The first act must follow from the newest act that was archived, as the newest ``prune`` tells.
    """

    def __init__(self) -> None:
        self.count = 0
        self.first: AuditedAct | None = None
        self.breaks: list[int] = []
        """The numbers of acts that were edited, or before which acts are missing."""
        self._pruned: Pruned | None = None
        self._last = FIRST_HASH

    def add(self, act: AuditedAct) -> None:
        """The next act."""
        if self.first is None:
            self.first = act
        elif not _follows(act, self._last):
            self.breaks.append(act.audit.number)
        self._last = act.hash
        self.count += 1
        if act.audit.act == PRUNED:
            self._pruned = _told(act.audit) or self._pruned

    @property
    def archived_through(self) -> int | None:
        """The number of the newest act that was archived and deleted."""
        return None if self._pruned is None else self._pruned.through

    def ended(self) -> list[int]:
        """The breaks, now that all acts were seen."""
        before = FIRST_HASH if self._pruned is None else bytes.fromhex(self._pruned.hash)
        if self.first is not None and not _follows(self.first, before):
            self.breaks.insert(0, self.first.audit.number)
        return self.breaks


def _follows(act: AuditedAct, before: bytes) -> bool:
    return linked(before, audit_values(act.audit, act.audit.at)) == act.hash


def _told(audit: Audit) -> Pruned | None:
    """What a ``prune`` tells of the beginning; None if it tells nothing, or cannot be read, which is a break."""
    try:
        pruned = msgspec.json.decode(audit.details, type=Pruned)
        bytes.fromhex(pruned.hash)
    except (msgspec.DecodeError, ValueError):
        return None
    return None if pruned.through is None else pruned


def alert_values(alert: Alert, now: float) -> tuple[Any, ...]:
    """The columns of a new alert; one without an instant is of now."""
    at = alert.at or now
    return at, alert.kind, alert.task, alert.task_id, alert.step, alert.message, alert.details


def audit_values(audit: Audit, now: float) -> tuple[Any, ...]:
    """The columns of an act but for its hash; one without an instant is of now."""
    at = audit.at or now
    return at, audit.actor, audit.act, audit.task, audit.step, audit.before, audit.after, audit.details
