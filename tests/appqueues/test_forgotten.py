"""Response queues without a reader, and submission queues without a submission process."""

from __future__ import annotations

import pytest

from stepward.transport.rabbitmq.application import declarations
from tests.appqueues.shop import Shop, told, until

pytestmark = pytest.mark.servers

FEW = 3
"""Broker messages that a response queue takes in these tests."""


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small queues, from before a shop opens them, and one place in the relay."""
    monkeypatch.setattr("stepward.transport.nats.application.queue_backend.MOST_EVENTS", FEW)
    monkeypatch.setattr(declarations, "RESPONSE_ARGUMENTS", declarations.RESPONSE_ARGUMENTS | {"x-max-length": FEW})
    monkeypatch.setattr("stepward.transport.rabbitmq.application.queue_backend.PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr("stepward.host.queues.status_event_relay.MOST_CARRIED", 1)


async def test_an_unread_response_queue_blocks_no_other_and_loses_nothing(shop: Shop) -> None:
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


async def watched(shop: Shop, queue: str) -> str:
    """Wait for the alert about an unserved queue; its message."""

    async def look() -> list[str]:
        alerts = await shop.client.alerts()
        return [alert.message for alert in alerts if alert.kind == "queue_unserved" and queue in alert.message]

    return (await until(look))[0]


async def test_an_unserved_submission_queue_is_an_alert_until_it_is_served(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stepward.host.queues.unserved_queue_alerts.LOOK_SECONDS", 0.2)
    monkeypatch.setattr("stepward.host.queues.unserved_queue_alerts.UNSERVED_SECONDS", 0.3)
    await shop.run(submission=False)
    await shop.post("o1")
    message = await watched(shop, shop.submissions)
    assert f"queue {shop.submissions}: expected a submission process, found none" in message
    await shop.run(scheduler=False, supervisor=False)
    await shop.has_placed("o1")

    async def is_over() -> bool:
        return not await shop.client.alerts()

    await until(is_over)


async def test_an_unread_response_queue_is_an_alert_until_it_is_read(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stepward.host.queues.unserved_queue_alerts.LOOK_SECONDS", 0.2)
    monkeypatch.setattr("stepward.host.queues.unserved_queue_alerts.UNREAD_SECONDS", 0.3)
    await shop.run()
    await shop.post("o1", reply_to=True)
    message = await watched(shop, shop.replies)
    assert f"queue {shop.replies}: expected a reader, found none" in message
    assert len(await told(shop.queues.events(shop.replies))) > 1

    async def is_over() -> bool:
        return not await shop.client.alerts()

    await until(is_over)
