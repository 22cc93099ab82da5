"""``client.alert_sinks``: where alerts are delivered to, what each sink took, tests of one, and silences of all."""

from __future__ import annotations

import asyncio
from datetime import datetime

from stepward import durations
from stepward.client.alert_silences import checked_kind, new_silence
from stepward.client.session import ClientSession
from stepward.client.submitting import act_arguments
from stepward.durations import Duration
from stepward.errors import Refused, SinkNotFound
from stepward.model.alerts.alert_routing import AlertReceipt, ReportedSink
from stepward.model.alerts.silences import AlertSilence
from stepward.store.contract import Store
from stepward.store.contract.by_subject.alerts import MOST_SILENCES

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
                f"sink {_printable(sink)}: expected one of the leading Supervisor's ({known}), "
                "found none such; name one"
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

    async def silences(self) -> list[AlertSilence]:
        """The kinds of alerts that no sink gets now, and until when."""
        operators = self._session.store.operators
        now = operators.now()
        return [each for each in await operators.alert_silences() if each.lasted_at(now)]

    async def silence(
        self, kind: str, until: datetime | Duration, *, workflow: str | None = None, note: str | None = None
    ) -> AlertSilence:
        """Have no sink get alerts of that kind until then, 30 days at most; of one workflow, or of all.

        The alerts are raised and shown all the same. When it ends, sinks get those that are still open. A
        silence of the same kind and workflow is replaced. Raises Refused.
        """
        operators = self._session.store.operators
        found = new_silence(kind, until, workflow, note, operators.now())
        if not await operators.silence(found, self._session.actor):
            raise Refused(f"silence: expected fewer than {MOST_SILENCES}, found as many; end some first")
        return found

    async def unsilence(self, kind: str, workflow: str | None = None) -> bool:
        """End a silence: the sinks get what is still open; False if there is none."""
        workflow = act_arguments.wanted_workflow(workflow)
        return await self._session.store.operators.unsilence(checked_kind(kind), workflow, self._session.actor)


def _printable(name: str) -> str:
    return name[:100] if name.isprintable() else durations.shown(name)


async def answer_to_test(store: Store, number: int, seconds: float) -> AlertReceipt | None:
    """The sink's receipt of a test, once it took or refused it; None if no Supervisor has delivered it in time."""
    for _ in range(int(seconds / LOOK_EVERY) + 1):
        for receipt in await store.operators.alert_receipts([number]):
            if receipt.raised_at is not None or receipt.error is not None:
                return receipt
        await asyncio.sleep(LOOK_EVERY)
    return None
