"""The leader's sinks, reported to operators once for each term."""

from __future__ import annotations

from collections.abc import Sequence

from stepward.events import AlertSink
from stepward.model.alerts.alert_routing import ReportedSink
from stepward.store.contract import SupervisorStore


class SinkReport:
    """Reports the sinks of this process when it begins to lead."""

    def __init__(self, store: SupervisorStore, sinks: Sequence[AlertSink]) -> None:
        self._store = store
        self._sinks = [ReportedSink(sink.name, f"{sink.description}: {sink.route}") for sink in sinks]
        self._term: int | None = None

    async def look(self, term: int) -> None:
        """Report them unless that was done in this term."""
        if term != self._term and await self._store.report_sinks(term, self._sinks):
            self._term = term
