"""What is told once and for good: alerts, and audited acts in a chain of hashes that shows every edit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from stepward.model.records import Alert, Audit
from stepward.store.postgres.columns import columns_of, without_nul
from stepward.store.postgres.connection import Connection, Row
from stepward.store.rules import verdicts
from stepward.store.rules.audit_chain import FIRST_HASH, alert_values, audit_values, linked


async def write_alerts(connection: Connection, alerts: Sequence[Alert], now: float) -> None:
    """Make alerts; one without an instant is of now."""
    if alerts:
        await connection.change("journal.insert_alert", *alert_columns(alerts, now))


async def count_on(connection: Connection, known: Row | None, alert: Alert, now: float) -> None:
    """Make an alert, or have the open one that is known (number, details) tell what this one does."""
    if known is None:
        await write_alerts(connection, [alert], now)
    else:
        await connection.change("journal.count_on", known[0], without_nul(alert.message), alert.details)


async def settle(connection: Connection, places: Sequence[bytes], now: float) -> None:
    """Acknowledge the alerts of places where code did not fit and no task waits any more; by their details."""
    found: list[int] = []
    for place in places:
        found += [row[0] for row in await connection.rows("journal.settle", *verdicts.settling(place, now))]
    write_audits(connection, [verdicts.acknowledged(number, verdicts.MENDED) for number in found], now)


def write_audits(connection: Connection, audits: Sequence[Audit], now: float) -> None:
    """Append acts to the chain at the end of the transaction; one without an instant is of now."""
    connection.audits += [audit_values(replace(audit, actor=without_nul(audit.actor)), now) for audit in audits]


async def link(connection: Connection) -> None:
    """Append what waits for the end of the transaction. The chain stays this transaction's until then: whoever locked
    rows after it would wait for one who has locked them and waits for the chain."""
    waiting, connection.audits = connection.audits, []
    if not waiting:
        return
    await lock_chain(connection)
    row = await connection.row("journal.last_hash")
    last = row[0] if row else FIRST_HASH
    many = []
    for values in waiting:
        last = linked(last, values)
        many.append((*values, last))
    await connection.change("journal.insert_audit", *columns_of(many))


async def lock_chain(connection: Connection) -> None:
    """Keep the chain for this transaction alone until its end."""
    await connection.row("journal.lock_chain", connection.schema)


def alert_columns(alerts: Sequence[Alert], now: float) -> list[Sequence[Any]]:
    """The columns of new alerts."""
    return columns_of([alert_values(replace(alert, message=without_nul(alert.message)), now) for alert in alerts])
