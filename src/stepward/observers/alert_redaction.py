"""Alerts without what may quote a payload, for processes whose payloads are encrypted: sinks write it elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from stepward.events import WITHHELD, AlertSink
from stepward.model.alerts.alert_routing import AlertNews, AlertRoute
from stepward.model.failures import read, titled
from stepward.model.records import Alert
from stepward.payload.sealed import PLAIN_ALERTS


@dataclass(frozen=True, slots=True)
class WithholdingSink:
    """Implements ``AlertSink`` around another, which receives kind, task, step and type of error."""

    inner: AlertSink

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def description(self) -> str:
        return self.inner.description

    @property
    def route(self) -> AlertRoute:
        return self.inner.route

    async def deliver(self, alert: Alert, news: AlertNews) -> None:
        """Deliver the alert without payloads."""
        await self.inner.deliver(alert if alert.kind in PLAIN_ALERTS else withheld_alert(alert), news)


def withheld_alert(alert: Alert) -> Alert:
    """The alert with its kind and its type of error as the message, and without details."""
    error = read(alert.details).get("error")
    kind = titled({"type": error.get("type"), "failure": error.get("failure")}) if isinstance(error, dict) else ""
    what = alert.kind.replace("_", " ")
    return replace(alert, message=f"{what}: {kind}{WITHHELD}" if kind else f"{what} {WITHHELD}", details=b"{}")
