"""An alert as a CloudEvent 1.0 in structured mode, for webhooks and queues."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from stepward.errors import InvalidPayload
from stepward.model.alerts.alert_routing import AlertNews, severity_of
from stepward.model.records import Alert
from stepward.payload import decode

TYPES = {AlertNews.RAISED: "dev.stepward.alert", AlertNews.RESOLVED: "dev.stepward.alert.resolved"}


def cloud_event(alert: Alert, news: AlertNews, source: str, link: str | None) -> dict[str, Any]:
    """The event; the same alert and news give the same id for ever."""
    data = {
        "number": alert.number,
        "kind": alert.kind,
        "severity": severity_of(alert.kind),
        "message": alert.message,
        "workflow": alert.workflow,
        "task": alert.task_id or alert.task,
        "uid": alert.task,
        "step": alert.step,
        "link": link,
        "details": _details(alert.details),
    }
    at = alert.at
    if news is AlertNews.RESOLVED:
        at = alert.resolved_at or alert.at
        data["raised_at"] = _instant(alert.at)
    event = {
        "specversion": "1.0",
        "id": f"alert-{alert.number}" if news is AlertNews.RAISED else f"alert-{alert.number}-{news}",
        "source": source,
        "type": TYPES[news],
        "time": _instant(at),
        "datacontenttype": "application/json",
        "data": data,
    }
    return event | ({"subject": alert.task_id} if alert.task_id else {})


def _instant(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()


def _details(data: bytes) -> Any:
    try:
        return decode(data, "details of an alert")
    except InvalidPayload:
        return data.decode("utf-8", "replace")
