"""The sinks of alerts as operators see and test them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from stepward.model.alerts.alert_routing import TEST_KIND, AlertReceipt, ReportedSink
from stepward.model.records import Alert, Audit
from stepward.store import rows
from stepward.store.verbs import connection as ask
from stepward.store.verbs import journal
from stepward.store.verbs.connection import VerbConnection, without_nul
from stepward.store.verbs.engine import VerbPart


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


async def _test(connection: VerbConnection, name: str, actor: str, now: float) -> int | None:
    """Raises an alert for that sink alone, which is acknowledged at once: there is nothing to do."""
    name, actor = without_nul(name), without_nul(actor)
    if name not in [row[0] for row in await connection.rows("alerts.sinks")]:
        return None
    details = msgspec.json.encode({"sink": name})
    message = f"this is a test of the sink {name} by {actor}: there is nothing to do"
    await journal.write_alerts(connection, [Alert(kind=TEST_KIND, message=message, details=details)], now)
    (newest,) = [rows.alert(row) for row in await connection.rows("alerts.open_of", [TEST_KIND], 1)]
    await connection.change("client.acknowledge", newest.number, now, actor)
    audit = Audit(actor=actor, act="test", details=msgspec.json.encode({"sink": name, "alert": newest.number}))
    await journal.write_audits(connection, [audit], now)
    return newest.number
