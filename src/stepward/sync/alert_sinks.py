"""Sinks of alerts, for code without an event loop."""

from __future__ import annotations

from datetime import datetime

from stepward.client import AlertSinks
from stepward.durations import Duration
from stepward.model.alerts.alert_routing import AlertReceipt, ReportedSink
from stepward.model.alerts.silences import AlertSilence
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

    def silences(self) -> list[AlertSilence]:
        """The kinds of alerts that no sink gets now, and until when."""
        return self._thread.call(self._inner.silences())

    def silence(
        self, kind: str, until: datetime | Duration, *, workflow: str | None = None, note: str | None = None
    ) -> AlertSilence:
        """Have no sink get alerts of that kind until then; of one workflow, or of all. Raises Refused."""
        return self._thread.call(self._inner.silence(kind, until, workflow=workflow, note=note))

    def unsilence(self, kind: str, workflow: str | None = None) -> bool:
        """End a silence; False if there is none."""
        return self._thread.call(self._inner.unsilence(kind, workflow))
