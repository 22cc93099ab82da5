"""The part of the store from which a Supervisor delivers alerts to its sinks: the alerts are the outbox."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from stepward.model.alerts.alert_routing import AlertProgress, AlertReceipt, ReportedSink
from stepward.model.alerts.silences import AlertSilence
from stepward.model.records import Alert, Instance
from stepward.store.contract.values.early_warnings import KeptWarnings, WarningFigures

MOST_SILENCES = 100
"""Most silences at once."""


class AlertDeliveryStore(Protocol):
    """Alerts on their way to the sinks."""

    async def undelivered_alerts(self, limit: int) -> list[Alert]:
        """Due alerts that some sink may not have taken whole, oldest first."""
        ...

    async def alert_receipts(self, numbers: Sequence[int]) -> list[AlertReceipt]:
        """What sinks have taken of the alerts of these numbers."""
        ...

    async def alert_silences(self) -> list[AlertSilence]:
        """The silences, and those that ended within the last day."""
        ...

    async def record_receipts(self, receipts: Sequence[AlertReceipt], progress: Sequence[AlertProgress]) -> None:
        """Record in one commit what sinks took or refused, and when the alerts are due again.

        What a sink took before stands. An alert that was resolved since it was read stays due.
        """
        ...

    async def report_sinks(self, term: int, sinks: Sequence[ReportedSink]) -> bool:
        """Have operators see these sinks, those of the leader, in place of those before; False if it leads no more."""
        ...

    async def early_warnings(self, task_share: float, created_before: float) -> WarningFigures:
        """The tasks that have used ``task_share`` of the time until a deadline of a minute or more, the oldest messages
        of queues, and the tasks created before an instant that are claimed next."""
        ...

    async def late_leases(self, share: float) -> list[Instance]:
        """The live instances whose lease, of five seconds or more, is used up to ``share``."""
        ...

    async def keep_warnings(
        self, term: int, kinds: Sequence[str], new: Sequence[Alert], lasting: Sequence[Alert]
    ) -> KeptWarnings:
        """Raises the alerts of these kinds that are new, unless they are open, and resolves the open ones that are
        neither new nor lasting. Two alerts of one kind with the same details are the same."""
        ...


class AlertSinkStore(Protocol):
    """The sinks of alerts, for operators."""

    async def alert_sinks(self) -> list[ReportedSink]:
        """The sinks of the Supervisor that leads, or led last, by name."""
        ...

    async def alert_receipts(self, numbers: Sequence[int]) -> list[AlertReceipt]:
        """What sinks have taken of the alerts of these numbers."""
        ...

    async def alert_silences(self) -> list[AlertSilence]:
        """The silences, and those that ended within the last day."""
        ...

    async def silence(self, silence: AlertSilence, actor: str) -> bool:
        """Keeps alerts of a kind from the sinks until an instant, in place of an earlier silence of the same kind and
        workflow; ``set_at`` and ``set_by`` are set here. False if there are MOST_SILENCES already."""
        ...

    async def unsilence(self, kind: str, workflow: str | None, actor: str) -> bool:
        """Ends a silence: the sinks get what is still open; False if there is none."""
        ...

    async def test_sink(self, name: str, actor: str) -> int | None:
        """Has the leader send a test to that sink alone, and audits it; the number of the alert, None if there is no
        sink of that name."""
        ...
