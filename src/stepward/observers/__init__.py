"""Observers: what actors tell, turned into log lines, and alerts handed to people."""

from stepward.observers.logs import LogObserver, LogSink
from stepward.observers.signature import verify
from stepward.observers.webhook import WebhookSink

__all__ = ["LogObserver", "LogSink", "WebhookSink", "verify"]
