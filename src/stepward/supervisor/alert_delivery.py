"""Delivery of alerts: every sink must take each alert; a sink that refuses is offered it again with backoff.

Which sink took an alert is remembered in this process only, so after a restart or under another leader a sink may
receive an alert again, under the same number.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from stepward.error_messages import message_of
from stepward.events import AlertSink, Observers
from stepward.model.containment import failure_of
from stepward.model.records import Alert
from stepward.policies import Backoff
from stepward.store.contract import SupervisorStore

AT_ONCE = 100
MOST_REMEMBERED = 10_000
BACKOFF = Backoff("1s", factor=2.0, maximum="5m")


class AlertDelivery:
    """Offers undelivered alerts to the sinks of this process."""

    def __init__(self, store: SupervisorStore, sinks: Sequence[AlertSink], observers: Observers) -> None:
        self._store = store
        self._sinks = list(sinks)
        self._observers = observers
        self._took: dict[int, set[str]] = {}

    async def run(self) -> tuple[int, int]:
        """Offer due alerts, at most 100; how many were delivered and how many refused.

        A process without sinks leaves alerts to others.
        """
        if not self._sinks:
            return 0, 0
        alerts = await self._store.undelivered_alerts(AT_ONCE)
        if len(self._took) > MOST_REMEMBERED:
            self._took.clear()
        for alert in alerts:
            self._took.setdefault(alert.number, set())
        refusals = await asyncio.gather(*(self._offer(sink, alerts) for sink in self._sinks))
        delivered = await self._record_taken(alerts)
        refused = {alert.number: alert for alert in refusals if alert is not None}
        for alert in refused.values():
            next_try = self._store.now() + BACKOFF.delay(alert.tries + 1)
            await self._store.alert_refused(alert.number, next_try)
        return delivered, len(refused)

    async def _offer(self, sink: AlertSink, alerts: Sequence[Alert]) -> Alert | None:
        """Offer in order up to the first refusal: an unavailable sink is called once per run."""
        for alert in alerts:
            took = self._took[alert.number]
            if sink.name in took:
                continue
            try:
                await sink.deliver(alert)
            except BaseException as caught:
                error = failure_of(caught)
                self._observers.tell(
                    "alert.refused",
                    number=alert.number,
                    sink=sink.name,
                    tries=alert.tries + 1,
                    error=message_of(error),
                )
                return alert
            took.add(sink.name)
        return None

    async def _record_taken(self, alerts: Sequence[Alert]) -> int:
        names = {sink.name for sink in self._sinks}
        taken = [alert for alert in alerts if self._took[alert.number] >= names]
        for alert in taken:
            await self._store.alert_delivered(alert.number)
            del self._took[alert.number]
            self._observers.tell("alert.delivered", number=alert.number, kind=alert.kind)
        return len(taken)
