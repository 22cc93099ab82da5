"""Sinks of alerts, for code without an event loop."""

from __future__ import annotations

from stepward.client import AlertSinks
from stepward.durations import Duration
from stepward.model.alerts.alert_routing import AlertReceipt, ReportedSink
from stepward.runtime.loop_thread import LoopThread


class SyncAlertSinks:
    """``AlertSinks`` for code without an event loop; every method has the arguments and the result of its twin."""

    def __init__(self, thread: LoopThread, inner: AlertSinks) -> None:
        self._thread = thread
        self._inner = inner

    def reported(self) -> list[ReportedSink]:
        """The sinks by name, with the alerts that each gets."""
        return self._thread.call(self._inner.reported())

    def receipts(self, alert: int) -> list[AlertReceipt]:
        """Each sink's receipt of the alert of that number."""
        return self._thread.call(self._inner.receipts(alert))

    def send_test(self, sink: str) -> int:
        """Have the leading Supervisor send a test to one sink; the number of its alert. Raises SinkNotFound."""
        return self._thread.call(self._inner.send_test(sink))

    def test(self, sink: str, *, timeout: Duration = 15.0) -> AlertReceipt:
        """Send a test to one sink, and wait for its receipt. Raises SinkNotFound, TimeoutError."""
        return self._thread.call(self._inner.test(sink, timeout=timeout))
