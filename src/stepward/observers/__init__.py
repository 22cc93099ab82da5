"""Observers: events of actors as log lines, and alerts to sinks."""

from stepward.observers.logs import LogObserver, LogSink
from stepward.observers.webhook_signature import verify
from stepward.observers.webhook_sink import WebhookSink

__all__ = ["LogObserver", "LogSink", "WebhookSink", "verify"]
