"""Delivery of alerts: every sink takes each alert of its route; a sink that refuses is offered it again with backoff.

The alerts in the store are the outbox, and what each sink took is recorded there: after a crash at any point another
process, or the same one after a restart, continues. A sink may receive an alert twice, under the same number, if the
process died between the sink's answer and the record of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from stepward.error_messages import message_of
from stepward.events import AlertSink, Observers
from stepward.model.alerts.alert_routing import AlertNews, AlertProgress, AlertReceipt, is_for, owed
from stepward.model.alerts.silences import is_over_unsent, silent_until
from stepward.model.application_calls import failure_of
from stepward.model.records import Alert
from stepward.policies import Backoff
from stepward.store.contract import SupervisorStore

AT_ONCE = 100
RUNS = 100
"""Most runs one right after the other; after them the next pass of the Supervisor begins again."""
BACKOFF = Backoff("1s", factor=2.0, maximum="5m")
GIVE_UP_SECONDS = 7 * 86_400.0
"""How long a sink is offered the same news; after that it gets no more of that alert."""
LONGEST_ERROR = 1_000
"""Most characters of a refusal that are recorded."""

Receipts = Mapping[tuple[int, str], AlertReceipt]
"""By alert and sink."""


class AlertDelivery:
    """Offers undelivered alerts to the sinks of this process."""

    def __init__(self, store: SupervisorStore, sinks: Sequence[AlertSink], observers: Observers) -> None:
        self._store = store
        self._sinks = list(sinks)
        self._observers = observers
        self._unsent: set[int] = set()
        """The alerts of this run that were over while they were silent."""

    async def run(self) -> tuple[int, int]:
        """Offer due alerts, at most 100; how many were delivered and how many refused.

        A process without sinks leaves alerts to others.
        """
        if not self._sinks:
            return 0, 0
        alerts = await self._store.undelivered_alerts(AT_ONCE)
        alerts, silent = await self._due_and_silent(alerts)
        found = await self._store.alert_receipts([alert.number for alert in alerts])
        known = {(receipt.number, receipt.sink): receipt for receipt in found}
        offered = await asyncio.gather(*(self._offer(sink, alerts, known) for sink in self._sinks))
        changed = {(each.number, each.sink): each for receipts in offered for each in receipts}
        tried = {each.number for each in changed.values() if _was_asked(each, known)}
        progress = [self._progress(alert, known | changed, tried) for alert in alerts]
        await self._store.record_receipts(list(changed.values()), progress + silent)
        self._report(alerts, progress)
        refused = tried & {each.number for each in changed.values() if each.error is not None}
        return sum(each.next_try is None for each in progress), len(refused)

    async def run_on(self) -> None:
        """Offer alerts as long as some are delivered, a bounded number of times."""
        for _ in range(RUNS):
            delivered, _ = await self.run()
            if not delivered:
                break

    async def _due_and_silent(self, alerts: Sequence[Alert]) -> tuple[list[Alert], list[AlertProgress]]:
        """The alerts that sinks get now, and until when the others wait."""
        silences = await self._store.alert_silences() if alerts else []
        now, due, silent = self._store.now(), list[Alert](), list[AlertProgress]()
        for alert in alerts:
            until = silent_until(alert, silences, now)
            if until is None:
                due.append(alert)
            else:
                progress = AlertProgress(
                    number=alert.number, resolved_at=alert.resolved_at, tried=False, next_try=until
                )
                silent.append(progress)
        self._unsent = {alert.number for alert in due if is_over_unsent(alert, silences)}
        return due, silent

    def _owed(self, receipt: AlertReceipt, alert: Alert) -> AlertNews | None:
        return owed(receipt, alert, is_unsent=alert.number in self._unsent)

    async def _offer(self, sink: AlertSink, alerts: Sequence[Alert], known: Receipts) -> list[AlertReceipt]:
        """Offer what is due, what was never refused first, up to the first refusal: an unavailable sink is called once
        per run, and the rest waits as long as what it refused. The receipts that changed."""
        now = self._store.now()
        due = [
            (alert, receipt)
            for alert in alerts
            if is_for(alert, sink.name, sink.route)
            and self._owed(receipt := _receipt(known, alert, sink), alert) is not None
            and receipt.next_try <= now
        ]
        due.sort(key=lambda pair: (pair[1].tries, pair[0].number))
        changed: list[AlertReceipt] = []
        for place, (alert, receipt) in enumerate(due):
            after = await self._sent(sink, alert, receipt)
            changed.append(after)
            if after.error is not None:
                return changed + [replace(left, next_try=after.next_try) for _, left in due[place + 1 :]]
        return changed

    async def _sent(self, sink: AlertSink, alert: Alert, receipt: AlertReceipt) -> AlertReceipt:
        """The receipt after the sink took all that it is owed of the alert, or refused."""
        while (news := self._owed(receipt, alert)) is not None:
            try:
                await sink.deliver(alert, news)
            except BaseException as caught:
                return self._refused(sink, alert, receipt, news, message_of(failure_of(caught)))
            now = self._store.now()
            taken = {"raised_at": now} if news is AlertNews.RAISED else {"resolved_at": now}
            receipt = replace(receipt, tries=0, error=None, **taken)
        return receipt

    def _refused(
        self, sink: AlertSink, alert: Alert, receipt: AlertReceipt, news: AlertNews, error: str
    ) -> AlertReceipt:
        now, tries = self._store.now(), receipt.tries + 1
        news_at = alert.at if news is AlertNews.RAISED else alert.resolved_at or now
        is_given_up = now - news_at > GIVE_UP_SECONDS
        self._observers.emit(
            "alert.given_up" if is_given_up else "alert.refused",
            number=alert.number,
            sink=sink.name,
            tries=tries,
            error=error,
        )
        return replace(
            receipt,
            tries=tries,
            next_try=now + BACKOFF.delay(tries),
            error=error[:LONGEST_ERROR],
            given_up_at=now if is_given_up else None,
        )

    def _progress(self, alert: Alert, receipts: Receipts, tried: Collection[int]) -> AlertProgress:
        """When the alert is due again: once the first of the sinks that are owed something is."""
        receipt_of = [_receipt(receipts, alert, sink) for sink in self._sinks if is_for(alert, sink.name, sink.route)]
        tries = [receipt.next_try for receipt in receipt_of if self._owed(receipt, alert) is not None]
        return AlertProgress(
            number=alert.number,
            resolved_at=alert.resolved_at,
            tried=alert.number in tried,
            next_try=min(tries, default=None),
        )

    def _report(self, alerts: Sequence[Alert], progress: Sequence[AlertProgress]) -> None:
        for alert, each in zip(alerts, progress, strict=True):
            if each.next_try is None:
                name = "alert.delivered" if alert.resolved_at is None else "alert.resolved"
                self._observers.emit(name, number=alert.number, kind=alert.kind)


def _receipt(receipts: Receipts, alert: Alert, sink: AlertSink) -> AlertReceipt:
    return receipts.get((alert.number, sink.name)) or AlertReceipt(number=alert.number, sink=sink.name)


def _was_asked(after: AlertReceipt, known: Receipts) -> bool:
    """Whether the sink was offered something, and not only the time of its next offer has changed."""
    before = known.get((after.number, after.sink)) or AlertReceipt(number=after.number, sink=after.sink)
    return replace(after, next_try=before.next_try) != before
