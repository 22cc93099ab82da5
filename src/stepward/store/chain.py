"""The audit as a chain of hashes, and what of an alert or act is written: alike in every store."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import msgspec

from stepward.model.records import Alert, Audit

FIRST_HASH = bytes(32)


def linked(previous: bytes, values: tuple[Any, ...]) -> bytes:
    """The hash of an act (its columns ``at`` to ``details``) that follows the one of ``previous``."""
    return sha256(previous + msgspec.json.encode(values)).digest()


def alert_values(alert: Alert, now: float) -> tuple[Any, ...]:
    """The columns of a new alert; one without an instant is of now."""
    at = alert.at or now
    return at, alert.kind, alert.task, alert.task_id, alert.step, alert.message, alert.details


def audit_values(audit: Audit, now: float) -> tuple[Any, ...]:
    """The columns of an act but for its hash; one without an instant is of now."""
    at = audit.at or now
    return at, audit.actor, audit.act, audit.task, audit.step, audit.before, audit.after, audit.details
