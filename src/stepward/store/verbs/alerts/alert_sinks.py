"""The sinks of alerts as operators see and test them, and the silences in which they get none."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from stepward.model.alerts.alert_routing import TEST_KIND, AlertReceipt, ReportedSink
from stepward.model.alerts.silences import AlertSilence
from stepward.model.records import Alert, Audit
from stepward.model.tasks.control_characters import without_nul
from stepward.store import rows
from stepward.store.contract.by_subject.alerts import MOST_SILENCES
from stepward.store.rules.audit.audited_acts import silence_audit
from stepward.store.verbs import alerts_and_audit
from stepward.store.verbs import connection as ask
from stepward.store.verbs.connection import VerbConnection
from stepward.store.verbs.engine import VerbPart

ENDED_KEPT_SECONDS = 86_400.0
"""Seconds for which a silence is kept after its end: no sink gets alerts that were over meanwhile."""


class AlertSinkVerbs(VerbPart):
    """Implements ``AlertSinkStore``."""

    async def alert_sinks(self) -> list[ReportedSink]:
        return [ReportedSink(*row) for row in await self._transactions.read(ask.rows, "alerts.sinks")]

    async def alert_receipts(self, numbers: Sequence[int]) -> list[AlertReceipt]:
        found = await self._transactions.read(ask.rows, "alerts.receipts", list(numbers))
        return [AlertReceipt(**dict(zip(AlertReceipt.__struct_fields__, row, strict=True))) for row in found]

    async def test_sink(self, name: str, actor: str) -> int | None:
        number = await self._transactions.write(_test, name, actor, self._clock.now())
        self._ring()
        return number

    async def alert_silences(self) -> list[AlertSilence]:
        return await self._transactions.read(silences)

    async def silence(self, silence: AlertSilence, actor: str) -> bool:
        return await self._transactions.write(_silence, silence, actor, self._clock.now())

    async def unsilence(self, kind: str, workflow: str | None, actor: str) -> bool:
        was_silent = await self._transactions.write(_unsilence, kind, workflow, actor, self._clock.now())
        self._ring()
        return was_silent


async def silences(connection: VerbConnection) -> list[AlertSilence]:
    """The silences, and those that ended lately."""
    return [
        AlertSilence(kind=kind, workflow=workflow, until=until, set_at=set_at, set_by=set_by, note=note)
        for kind, workflow, until, set_at, set_by, note in await connection.rows("alerts.silences")
    ]


async def _silence(connection: VerbConnection, silence: AlertSilence, actor: str, now: float) -> bool:
    await connection.change("alerts.forget_silences", now - ENDED_KEPT_SECONDS)
    known = {(each.kind, each.workflow) for each in await silences(connection)}
    if len(known) >= MOST_SILENCES and (silence.kind, silence.workflow) not in known:
        return False
    note = None if silence.note is None else without_nul(silence.note)
    place = (silence.kind, silence.workflow or "")
    await connection.change("alerts.silence", *place, silence.until, now, without_nul(actor), note)
    await connection.change("alerts.due_again", now)
    await alerts_and_audit.write_audits(connection, [silence_audit(actor, "silence", silence)], now)
    return True


async def _unsilence(connection: VerbConnection, kind: str, workflow: str | None, actor: str, now: float) -> bool:
    if not await connection.change("alerts.unsilence", kind, workflow or "", now):
        return False
    await connection.change("alerts.due_again", now)
    silence = AlertSilence(kind=kind, workflow=workflow, until=now)
    await alerts_and_audit.write_audits(connection, [silence_audit(actor, "unsilence", silence)], now)
    return True


async def _test(connection: VerbConnection, name: str, actor: str, now: float) -> int | None:
    """Raises an alert for that sink alone, which is acknowledged at once: there is nothing to do."""
    name, actor = without_nul(name), without_nul(actor)
    if name not in [row[0] for row in await connection.rows("alerts.sinks")]:
        return None
    details = msgspec.json.encode({"sink": name})
    message = f"this is a test of the sink {name} by {actor}: there is nothing to do"
    await alerts_and_audit.write_alerts(connection, [Alert(kind=TEST_KIND, message=message, details=details)], now)
    (newest,) = [rows.alert(row) for row in await connection.rows("alerts.open_of", [TEST_KIND], 1)]
    await connection.change("alerts_and_audit.acknowledge", newest.number, now, actor)
    audit = Audit(actor=actor, act="test", details=msgspec.json.encode({"sink": name, "alert": newest.number}))
    await alerts_and_audit.write_audits(connection, [audit], now)
    return newest.number
