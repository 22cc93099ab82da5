"""The audit as a chain of hashes, and what of an alert or act is written: alike in every store."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

from stepward.model.records import Alert, Audit
from stepward.store.contract.by_subject.retention import AuditedAct

FIRST_HASH = bytes(32)
PRUNED = "prune"
"""The act that tells up to which act the audit was archived and deleted, and that act's hash."""


DELETED = "delete"
"""The act that records a deletion on demand, and the hashes of the acts whose details it erased."""
MARK = b'{"erased":true}'
"""Takes the place of details that were erased."""
EMPTY = b"{}"
"""The details of an act without any."""


class Pruned(msgspec.Struct, frozen=True, omit_defaults=True):
    """The details of a ``prune``."""

    acts: int
    alerts: int
    through: int | None = None
    hash: str = ""


class ErasedAct(NamedTuple):
    """An act whose details were erased, as the act that records the erasure names it."""

    number: int
    hash: str
    """The hash that the act had, and keeps."""
    left: str
    """The digest of what is left of it."""


class Erased(msgspec.Struct, frozen=True, omit_defaults=True):
    """The details of a ``delete``."""

    batch: str = ""
    descendants: int = 0
    erased: str = ""
    """NUMBER:HASH:LEFT of each act whose details were erased, separated by spaces."""

    @property
    def acts(self) -> list[ErasedAct]:
        """The acts whose details were erased; raises ValueError for a text that names none."""
        parts = [each.split(":") for each in self.erased.split()]
        return [ErasedAct(int(number), hash_, left) for number, hash_, left in parts]


def erased_act(act: AuditedAct) -> ErasedAct:
    """The entry about an act whose details are erased, or are going to be."""
    values = audit_values(msgspec.structs.replace(act.audit, details=MARK), act.audit.at)
    return ErasedAct(act.audit.number, act.hash.hex(), sha256(msgspec.json.encode(values)).hexdigest())


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


def alert_values(alert: Alert, now: float) -> tuple[Any, ...]:
    """The columns of a new alert; one without an instant is of now."""
    at = alert.at or now
    return at, alert.kind, alert.task, alert.task_id, alert.step, alert.message, alert.details


def audit_values(audit: Audit, now: float) -> tuple[Any, ...]:
    """The columns of an act but for its hash; one without an instant is of now."""
    at = audit.at or now
    return at, audit.actor, audit.act, audit.task, audit.step, audit.before, audit.after, audit.details
