"""What is told once and for good: alerts, and audited acts in a chain of hashes that shows every edit."""

from __future__ import annotations

from collections.abc import Sequence

from stepward.model.records import Alert, Audit
from stepward.store.queries import load_queries
from stepward.store.rules import verdicts
from stepward.store.rules.audit_chain import FIRST_HASH, alert_values, audit_values, linked
from stepward.store.sqlite.connection import Connection, Row
from stepward.store.sqlite.rows import FRAGMENTS

Q = load_queries(__package__, "journal.sql", FRAGMENTS)


def write_alerts(connection: Connection, alerts: Sequence[Alert], now: float) -> None:
    """Make alerts; one without an instant is of now."""
    if alerts:
        connection.change_many(Q["insert_alert"], [alert_values(alert, now) for alert in alerts])


def count_on(connection: Connection, known: Row | None, alert: Alert, now: float) -> None:
    """Make an alert, or have the open one that is known (number, details) tell what this one does."""
    if known is None:
        write_alerts(connection, [alert], now)
    else:
        connection.change(Q["count_on"], (known[0], alert.message, alert.details))


def settle(connection: Connection, places: Sequence[bytes], now: float) -> None:
    """Acknowledge the alerts of places where code did not fit and no task waits any more; by their details."""
    found = [row[0] for place in places for row in connection.rows(Q["settle"], verdicts.settling(place, now))]
    write_audits(connection, [verdicts.acknowledged(number, verdicts.MENDED) for number in found], now)


def write_audits(connection: Connection, audits: Sequence[Audit], now: float) -> None:
    """Append acts to the chain; one without an instant is of now."""
    if not audits:
        return
    row = connection.row(Q["last_hash"])
    link = row[0] if row else FIRST_HASH
    many = []
    for audit in audits:
        values = audit_values(audit, now)
        link = linked(link, values)
        many.append((*values, link))
    connection.change_many(Q["insert_audit"], many)
