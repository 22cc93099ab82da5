"""What is told once and for good: alerts, and audited acts in a chain of hashes that shows every edit."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import msgspec

from stepward.model.records import Alert, Audit
from stepward.store.queries import load_queries
from stepward.store.sqlite.connection import Connection

Q = load_queries(__package__, "journal.sql")

FIRST_HASH = bytes(32)


def write_alerts(connection: Connection, alerts: Sequence[Alert], now: float) -> None:
    """Make alerts; one without an instant is of now."""
    if alerts:
        connection.change_many(Q["insert_alert"], [_alert_values(alert, now) for alert in alerts])


def write_audits(connection: Connection, audits: Sequence[Audit], now: float) -> None:
    """Append acts to the chain; one without an instant is of now."""
    if not audits:
        return
    row = connection.row(Q["last_hash"])
    link = row[0] if row else FIRST_HASH
    many = []
    for audit in audits:
        values = _audit_values(audit, now)
        link = linked(link, values)
        many.append((*values, link))
    connection.change_many(Q["insert_audit"], many)


def linked(previous: bytes, values: tuple[Any, ...]) -> bytes:
    """The hash of an act (its columns ``at`` to ``details``) that follows the one of ``previous``."""
    return sha256(previous + msgspec.json.encode(values)).digest()


def _alert_values(alert: Alert, now: float) -> tuple[Any, ...]:
    at = alert.at or now
    return at, alert.kind, alert.task, alert.task_id, alert.step, alert.message, alert.details


def _audit_values(audit: Audit, now: float) -> tuple[Any, ...]:
    at = audit.at or now
    return at, audit.actor, audit.act, audit.task, audit.step, audit.before, audit.after, audit.details
