"""Response queues that nobody reads, and submission queues that nobody serves."""

from __future__ import annotations

import pytest

from stepward.transport.rabbitmq import declarations
from tests.appqueues.shop import Shop, told, until

pytestmark = pytest.mark.servers

FEW = 3
"""Broker messages that a response queue takes in these tests."""


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small queues, from before a shop opens them, and one place in the relay."""
    monkeypatch.setattr("stepward.transport.nats.depot.MOST_TOLD", FEW)
    monkeypatch.setattr(declarations, "TOLD", declarations.TOLD | {"x-max-length": FEW})
    monkeypatch.setattr("stepward.transport.rabbitmq.depot.PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr("stepward.host.relaying.MOST_CARRIED", 1)


async def test_a_response_queue_that_nobody_reads_stops_no_other_and_loses_nothing(shop: Shop) -> None:
    forgotten = f"replies.{shop.name}.forgotten"

    async def is_told_of() -> bool:
        alerts = await shop.client.alerts()
        return any(alert.kind == "queue_refused" and forgotten in alert.message for alert in alerts)

    async with shop.door() as door:
        await shop.run()
        orders = [f"f{number}" for number in range(2 * FEW)]
        for order in orders:
            await door.post("orders", "tea", id=order, reply_to=forgotten)
            await shop.has_placed(order)
        await until(is_told_of)
        await shop.post("o1", reply_to=True)
        assert {event.subject for event in await told(shop.queues.events(shop.replies))} == {"o1"}
        assert [
            event.subject for event in await told(door.events(forgotten), len(orders)) if event.sequence == 1
        ] == orders
