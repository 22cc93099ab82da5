"""The page of alerts, with their sinks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from litestar import get

from stepward.client import session_of
from stepward.console.page_frame import ROWS_SHOWN, PageRequest, PageResponse, SharedConsole
from stepward.http.access.permissions import Permission
from stepward.http.dependencies import RequestClient
from stepward.model.alerts.alert_routing import TEST_KIND, AlertReceipt, severity_of
from stepward.model.alerts.silences import AlertSilence
from stepward.model.records import Alert
from stepward.views.alert_kinds import PAGES, meaning_of
from stepward.views.alerts import message_of, subject_of


@get("/alerts", permission=Permission.READ)
async def alerts_page(request: PageRequest, client: RequestClient, console: SharedConsole) -> PageResponse:
    """Alerts, open ones first."""
    everything = request.query_params.get("all") == "1"
    found = await client.alerts(limit=ROWS_SHOWN, open_only=not everything)
    ordered = sorted(found, key=lambda alert: (alert.acknowledged_at is not None, -alert.number))
    groups: dict[tuple[bool, str], list[dict[str, Any]]] = {}
    receipts = await _receipts(client, ordered)
    for alert in ordered:
        taken = receipts.get(alert.number, [])
        row = {
            "sent": [each.sink for each in taken if each.raised_at is not None],
            "refused": [each for each in taken if each.raised_at is None and each.error is not None],
            "alert": alert,
            "subject": subject_of(alert),
            "message": message_of(alert),
            "page": PAGES.get(alert.kind),
        }
        groups.setdefault((alert.acknowledged_at is None, alert.kind), []).append(row)
    shown = [
        {
            "kind": kind,
            "is_open": is_open,
            "severity": severity_of(kind),
            "meaning": meaning_of(kind),
            "rows": rows,
            "workflows": sorted({row["alert"].workflow for row in rows} - {None}),
        }
        for (is_open, kind), rows in groups.items()
    ]
    values = {"groups": shown, "everything": everything, "sinks": await _sinks(client)}
    values["silences"] = await _silences(client)
    values["webhooks"] = await client.unscoped.webhooks() if client.principal.may(Permission.READ_ALL) else []
    return await console.page(request, client, "alerts.html", values)


async def _receipts(client: RequestClient, alerts: Sequence[Alert]) -> dict[int, list[AlertReceipt]]:
    """By alert, what sinks took or refused; none for a principal who may not see all."""
    found: dict[int, list[AlertReceipt]] = {}
    if client.principal.may(Permission.READ_ALL):
        operators = session_of(client.unscoped).store.operators
        for receipt in await operators.alert_receipts([alert.number for alert in alerts]):
            found.setdefault(receipt.number, []).append(receipt)
    return found


async def _silences(client: RequestClient) -> list[AlertSilence]:
    """The kinds of alerts that no sink gets; none for a principal who may not see all."""
    return await client.unscoped.alert_sinks.silences() if client.principal.may(Permission.READ_ALL) else []


async def _sinks(client: RequestClient) -> list[dict[str, Any]]:
    """The sinks, each with the answer to the newest test; none for a principal who may not see all."""
    if not client.principal.may(Permission.READ_ALL):
        return []
    operators = session_of(client.unscoped).store.operators
    sinks = await operators.alert_sinks()
    tests = [alert.number for alert in await operators.alerts(ROWS_SHOWN, open_only=False) if alert.kind == TEST_KIND]
    answers = {receipt.sink: receipt for receipt in await operators.alert_receipts(tests)}
    return [{"sink": sink, "answer": answers.get(sink.name)} for sink in sinks]
