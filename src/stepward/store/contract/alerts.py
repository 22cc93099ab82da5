"""The part of the store from which a Supervisor delivers alerts to its sinks: the alerts are the outbox."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from stepward.model.alert_routing import AlertProgress, AlertReceipt, ReportedSink
from stepward.model.records import Alert


class AlertDeliveryStore(Protocol):
    """Alerts on their way to the sinks."""

    async def undelivered_alerts(self, limit: int) -> list[Alert]:
        """Due alerts that some sink may not have taken whole, oldest first."""
        ...

    async def alert_receipts(self, numbers: Sequence[int]) -> list[AlertReceipt]:
        """What sinks have taken of the alerts of these numbers."""
        ...

    async def record_receipts(self, receipts: Sequence[AlertReceipt], progress: Sequence[AlertProgress]) -> None:
        """Record in one commit what sinks took or refused, and when the alerts are due again.

        What a sink took before stands. An alert that was resolved since it was read stays due.
        """
        ...

    async def report_sinks(self, term: int, sinks: Sequence[ReportedSink]) -> bool:
        """Have operators see these sinks, those of the leader, in place of those before; False if it leads no more."""
        ...
