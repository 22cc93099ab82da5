"""``client.alert_sinks``: where alerts are delivered to, what each sink took, and tests of one."""

from __future__ import annotations

import asyncio

from stepward import durations
from stepward.client.session import ClientSession
from stepward.durations import Duration
from stepward.errors import SinkNotFound
from stepward.model.alerts.alert_routing import AlertReceipt, ReportedSink
from stepward.store.contract import Store

LOOK_EVERY = 0.5
"""Seconds between two looks."""
WAIT_SECONDS = 15.0
"""Most seconds of a wait for the leader: it delivers within a pass, a sink answers within ten."""


class AlertSinks:
    """The sinks of the Supervisor that leads."""

    def __init__(self, session: ClientSession) -> None:
        self._session = session

    async def reported(self) -> list[ReportedSink]:
        """The sinks by name, with the alerts that each gets; none before a Supervisor has led."""
        return await self._session.store.operators.alert_sinks()

    async def receipts(self, alert: int) -> list[AlertReceipt]:
        """Each sink's receipt of the alert of that number: when it took the alert and its end, why it refused last."""
        return await self._session.store.operators.alert_receipts([alert])

    async def send_test(self, sink: str) -> int:
        """Have the leading Supervisor send a test to one sink; the number of its alert. Raises SinkNotFound."""
        operators = self._session.store.operators
        number = await operators.test_sink(sink, self._session.actor)
        if number is None:
            known = ", ".join(each.name for each in await operators.alert_sinks()) or "none"
            raise SinkNotFound(
                f"sink {sink[:100]}: expected one of the leading Supervisor's ({known}), found none such; name one"
            )
        return number

    async def test(self, sink: str, *, timeout: Duration = WAIT_SECONDS) -> AlertReceipt:
        """Send a test to one sink, and wait until it took or refused it; ``error`` of the receipt says why it refused.

        Raises SinkNotFound for an unknown sink, TimeoutError if no Supervisor has delivered the test in time.
        """
        seconds = durations.seconds(timeout, "timeout")
        receipt = await answer_to_test(self._session.store, await self.send_test(sink), seconds)
        if receipt is None:
            raise TimeoutError(
                f"sink {sink[:100]}: expected a Supervisor to deliver the test within {durations.text(seconds)}, found "
                "none that did; see `stepward check`"
            )
        return receipt


async def answer_to_test(store: Store, number: int, seconds: float) -> AlertReceipt | None:
    """The sink's receipt of a test, once it took or refused it; None if no Supervisor has delivered it in time."""
    for _ in range(int(seconds / LOOK_EVERY) + 1):
        for receipt in await store.operators.alert_receipts([number]):
            if receipt.raised_at is not None or receipt.error is not None:
                return receipt
        await asyncio.sleep(LOOK_EVERY)
    return None
