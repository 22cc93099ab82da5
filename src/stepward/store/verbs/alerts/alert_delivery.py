"""Alerts on their way to the sinks."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import astuple, replace

from stepward.model.alerts.alert_routing import AlertProgress, AlertReceipt, ReportedSink
from stepward.model.alerts.silences import AlertSilence
from stepward.model.records import Alert, Instance
from stepward.model.tasks.control_characters import without_nul
from stepward.store import rows
from stepward.store.contract.values.early_warnings import WarningFigures
from stepward.store.rules import supervisor_rows
from stepward.store.verbs import alerts_and_audit
from stepward.store.verbs import connection as ask
from stepward.store.verbs.alerts import early_warnings
from stepward.store.verbs.alerts.alert_sinks import silences
from stepward.store.verbs.connection import VerbConnection
from stepward.store.verbs.engine import VerbPart


class AlertDeliveryVerbs(VerbPart):
    """Implements ``AlertDeliveryStore``."""

    async def undelivered_alerts(self, limit: int) -> list[Alert]:
        found = await self._transactions.read(ask.rows, "alerts.undelivered", self._clock.now(), limit)
        return [rows.alert(row) for row in found]

    async def alert_receipts(self, numbers: Sequence[int]) -> list[AlertReceipt]:
        found = await self._transactions.read(ask.rows, "alerts.receipts", list(numbers))
        return [AlertReceipt(**dict(zip(AlertReceipt.__struct_fields__, row, strict=True))) for row in found]

    async def alert_silences(self) -> list[AlertSilence]:
        return await self._transactions.read(silences)

    async def early_warnings(self, task_share: float, created_before: float) -> WarningFigures:
        return await self._transactions.read_more(early_warnings.figures, task_share, created_before, self._clock.now())

    async def late_leases(self, share: float) -> list[Instance]:
        return await self._transactions.read(early_warnings.late_leases, share, self._clock.now())

    async def record_receipts(self, receipts: Sequence[AlertReceipt], progress: Sequence[AlertProgress]) -> None:
        if receipts or progress:
            await self._transactions.write(_record, receipts, progress, self._clock.now())


async def raise_alert(connection: VerbConnection, alert: Alert, now: float) -> bool:
    """Raises an alert unless one of its kind is open; whether it was raised."""
    if await connection.row("supervisor.is_open", alert.kind) is not None:
        return False
    await alerts_and_audit.write_alerts(connection, [alert], now)
    return True


async def resolve_alert(connection: VerbConnection, kind: str, now: float) -> bool:
    """Resolves the open alerts of a kind; whether there were any."""
    found = await connection.rows("supervisor.resolve_alert", kind, now, supervisor_rows.ACTOR)
    await alerts_and_audit.acknowledged(connection, found, supervisor_rows.ACTOR, now)
    return bool(found)


async def report_sinks(connection: VerbConnection, sinks: Sequence[ReportedSink], now: float) -> bool:
    """The sinks of the leader, in place of those before."""
    await connection.change("alerts.forget_sinks")
    await connection.change_each("alerts.report_sink", [(each.name, each.description, now) for each in sinks])
    return True


async def _record(
    connection: VerbConnection, receipts: Sequence[AlertReceipt], progress: Sequence[AlertProgress], now: float
) -> None:
    many = [astuple(_storable(each)) for each in sorted(receipts, key=lambda each: (each.number, each.sink))]
    await connection.change_each("alerts.record_receipt", many)
    ordered = sorted(progress, key=lambda each: each.number)
    await connection.change_each("alerts.progress", [astuple(each) for each in ordered], now)


def _storable(receipt: AlertReceipt) -> AlertReceipt:
    return receipt if receipt.error is None else replace(receipt, error=without_nul(receipt.error))
