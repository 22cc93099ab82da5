"""The sinks of alerts that the settings declare."""

from __future__ import annotations

from stepward.events import AlertSink
from stepward.model.alert_routing import route_of
from stepward.observers.logs import LogSink
from stepward.observers.webhook import WebhookSink
from stepward.observers.withholding import WithholdingSink
from stepward.settings import Settings
from stepward.sink_settings import SinkSettings, SinkType

LOG = SinkSettings(name="log", type=SinkType.LOG)


def sinks_of(settings: Settings, app: str = "") -> list[AlertSink]:
    """The log, the webhook of ``webhook_url``, and the sinks of ``alert_sinks``, one of which may replace the log.

    Raises SettingsError for an invalid receiver or secret.
    """
    declared = settings.alert_sinks or ()
    wanted = declared if any(each.name == LOG.name for each in declared) else (LOG, *declared)
    sinks = [_sink(each, settings, app) for each in (*wanted, *_webhook(settings))]
    return sinks if settings.encryption is None else [WithholdingSink(sink) for sink in sinks]


def _webhook(settings: Settings) -> list[SinkSettings]:
    if settings.webhook_url is None:
        return []
    return [
        SinkSettings(
            name="webhook",
            type=SinkType.WEBHOOK,
            url=settings.webhook_url,
            secret=settings.webhook_secret,
            private_hosts=settings.webhook_private_hosts or (),
        )
    ]


def _sink(declared: SinkSettings, settings: Settings, app: str) -> AlertSink:
    route = route_of(declared)
    if declared.type is SinkType.WEBHOOK:
        return WebhookSink(
            declared.url or "",
            declared.secret or "",
            name=declared.name,
            route=route,
            source=f"/stepward/{app}" if app else "/stepward",
            console_url=settings.console_url,
            private_hosts=declared.private_hosts,
        )
    return LogSink(name=declared.name, route=route, console_url=settings.console_url)
