"""Alerts, and audited acts in a chain of hashes that shows every edit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from stepward.model.records import Alert, Audit
from stepward.model.tasks.control_characters import without_nul
from stepward.store import rows
from stepward.store.rules.audit import audited_acts
from stepward.store.rules.audit.audit_chain import FIRST_HASH, alert_values, audit_values, linked
from stepward.store.search.statements import SqlStatement
from stepward.store.verbs.connection import VerbConnection, VerbRow


async def write_alerts(connection: VerbConnection, alerts: Sequence[Alert], now: float) -> None:
    """Inserts alerts; one without an instant gets ``now``."""
    if alerts:
        await connection.change_each("alerts_and_audit.insert_alert", alert_rows(alerts, now))


def alert_rows(alerts: Sequence[Alert], now: float) -> list[Sequence[Any]]:
    """The values of new alerts."""
    return [alert_values(replace(alert, message=without_nul(alert.message)), now) for alert in alerts]


async def count_on(connection: VerbConnection, known: VerbRow | None, alert: Alert, now: float) -> None:
    """Inserts an alert, or counts it on the open alert ``known`` (number, details)."""
    if known is None:
        await write_alerts(connection, [alert], now)
    else:
        await connection.change("alerts_and_audit.count_on", known[0], without_nul(alert.message), alert.details)


async def resolve(connection: VerbConnection, places: Sequence[bytes], now: float) -> None:
    """Acknowledge the alerts of places where code did not fit and no task waits any more; by their details."""
    found: list[VerbRow] = []
    for place in places:
        found += await connection.rows("alerts_and_audit.resolve", *audited_acts.resolve_parameters(place, now))
    await acknowledged(connection, found, audited_acts.MENDED, now)


async def acknowledged(connection: VerbConnection, found: Sequence[VerbRow], actor: str, now: float) -> None:
    """Audit that alerts, by the rows with their numbers, are seen to."""
    await write_audits(connection, [audited_acts.acknowledge_audit(row[0], actor) for row in found], now)


async def write_audits(connection: VerbConnection, audits: Sequence[Audit], now: float) -> None:
    """Append acts to the chain, by the end of the transaction; one without an instant is of now."""
    if audits:
        await connection.append_audits(audit_rows(audits, now))


def audit_rows(audits: Sequence[Audit], now: float) -> list[tuple[Any, ...]]:
    """The values of new acts, but for their hashes."""
    return [audit_values(replace(audit, actor=without_nul(audit.actor)), now) for audit in audits]


async def link(connection: VerbConnection, acts: Sequence[tuple[Any, ...]]) -> None:
    """Append acts to the chain now. The chain is this transaction's alone from then on."""
    if not acts:
        return
    await connection.lock_chain()
    row = await connection.row("alerts_and_audit.last_hash")
    last = row[0] if row else FIRST_HASH
    many = []
    for values in acts:
        last = linked(last, values)
        many.append((*values, last))
    await connection.change_each("alerts_and_audit.insert_audit", many)


async def found_alerts(connection: VerbConnection, wanted: SqlStatement) -> list[Alert]:
    """The alerts whose numbers a statement returns, newest first."""
    numbers = [number for (number,) in await connection.fetched(wanted.sql, *wanted.values)]
    return (
        [rows.alert(row) for row in await connection.rows("alerts_and_audit.numbered_alerts", numbers)]
        if numbers
        else []
    )
