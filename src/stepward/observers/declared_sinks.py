"""The sinks of alerts that the settings declare."""

from __future__ import annotations

from stepward.events import AlertSink
from stepward.model.alerts.alert_routing import route_of
from stepward.observers.alert_redaction import WithholdingSink
from stepward.observers.apprise_sink import AppriseSink
from stepward.observers.logs import LogSink
from stepward.observers.queue_sink import QueueSink
from stepward.observers.webhook_signature import check_secret
from stepward.observers.webhook_sink import WebhookSink
from stepward.settings import Settings
from stepward.settings.sink_settings import SinkSettings, SinkType
from stepward.transport.queues.contract import AppQueues

LOG = SinkSettings(name="log", type=SinkType.LOG)


def sinks_of(settings: Settings, app: str = "", queues: AppQueues | None = None) -> list[AlertSink]:
    """The log, the webhook of ``webhook_url``, and the sinks of ``alert_sinks``, one of which may replace the log.

    ``queues`` are those of the application, for sinks that are queues. Raises SettingsError for an invalid receiver or
    secret.
    """
    declared = settings.alert_sinks or ()
    for each in declared:
        if each.type is SinkType.WEBHOOK:
            check_secret(each.secret or "", f"alert_sinks.{each.name}.secret")
    wanted = declared if any(each.name == LOG.name for each in declared) else (LOG, *declared)
    sinks = [_sink(each, settings, app, queues) for each in (*wanted, *_webhook(settings))]
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


def _sink(declared: SinkSettings, settings: Settings, app: str, queues: AppQueues | None) -> AlertSink:
    route, name, console_url = route_of(declared), declared.name, settings.console_url
    if declared.type is SinkType.QUEUE:
        return QueueSink(declared.queue or "", queues, app=app, name=name, route=route, console_url=console_url)
    if declared.type is SinkType.APPRISE:
        return AppriseSink(declared.url or "", app=app, name=name, route=route, console_url=console_url)
    if declared.type is SinkType.WEBHOOK:
        return WebhookSink(
            declared.url or "",
            declared.secret or "",
            name=name,
            route=route,
            source=f"/stepward/{app}" if app else "/stepward",
            console_url=console_url,
            private_hosts=declared.private_hosts,
        )
    return LogSink(name=name, route=route, console_url=console_url)
