"""Observers: events of actors as log lines, and alerts to sinks."""

from stepward.observers.logs import LogObserver, LogSink
from stepward.observers.webhook import WebhookSink
from stepward.observers.webhook_signature import verify

__all__ = ["LogObserver", "LogSink", "WebhookSink", "verify"]
