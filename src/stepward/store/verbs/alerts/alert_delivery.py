"""Alerts on their way to the sinks."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import astuple, replace

from stepward.model.alerts.alert_routing import AlertProgress, AlertReceipt, ReportedSink
from stepward.model.alerts.silences import AlertSilence
from stepward.model.records import Alert, Instance
from stepward.store import rows
from stepward.store.contract.values.early_warnings import KeptWarnings, LateTask, QueueHead, WaitingTask, WarningFigures
from stepward.store.rules import supervisor_rows
from stepward.store.verbs import alerts_and_audit
from stepward.store.verbs import connection as ask
from stepward.store.verbs.alerts.alert_sinks import silences
from stepward.store.verbs.connection import VerbConnection, without_nul
from stepward.store.verbs.engine import VerbPart

MOST_LATE_TASKS = 1_000
MOST_WARNINGS = 1_000
SHORTEST_DEADLINE_SECONDS = 60.0
"""Tasks with less time end before an operator could act."""
SHORTEST_LEASE_SECONDS = 5.0
"""A shorter lease is used up by any pause of a busy host."""


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
        return await self._transactions.read_more(_early_warnings, task_share, created_before, self._clock.now())

    async def late_leases(self, share: float) -> list[Instance]:
        now = self._clock.now()
        late = await self._transactions.read(ask.rows, "alerts.late_leases", now, share, SHORTEST_LEASE_SECONDS)
        return [rows.instance(row) for row in late]

    async def record_receipts(self, receipts: Sequence[AlertReceipt], progress: Sequence[AlertProgress]) -> None:
        if receipts or progress:
            await self._transactions.write(_record, receipts, progress, self._clock.now())


async def keep_warnings(
    connection: VerbConnection, kinds: Sequence[str], new: Sequence[Alert], lasting: Sequence[Alert], now: float
) -> KeptWarnings:
    """Raises what is new, and resolves what is gone."""
    known = [rows.alert(row) for row in await connection.rows("alerts.open_of", list(kinds), MOST_WARNINGS)]
    wanted = {(alert.kind, alert.details) for alert in (*new, *lasting)}
    over = [alert.number for alert in known if (alert.kind, alert.details) not in wanted]
    resolved = await connection.rows("alerts.resolve", over, now, supervisor_rows.ACTOR) if over else []
    await alerts_and_audit.acknowledged(connection, sorted(resolved), supervisor_rows.ACTOR, now)
    open_ = {(alert.kind, alert.details) for alert in known}
    raised = [alert for alert in new if (alert.kind, alert.details) not in open_]
    await alerts_and_audit.write_alerts(connection, raised, now)
    return KeptWarnings(len(raised), len(resolved))


async def _early_warnings(
    connection: VerbConnection, task_share: float, created_before: float, now: float
) -> WarningFigures:
    late = await connection.rows("alerts.late_tasks", now, task_share, SHORTEST_DEADLINE_SECONDS, MOST_LATE_TASKS)
    newest = await connection.row("alerts.newest_token")
    return WarningFigures(
        late_tasks=[LateTask(*row) for row in late],
        heads=[QueueHead(*row) for row in await connection.rows("alerts.heads")],
        newest_token=0 if newest is None else newest[0],
        waiting=[WaitingTask(*row) for row in await connection.rows("alerts.waiting", created_before)],
    )


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
