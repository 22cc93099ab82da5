"""Alerts in a response queue of the application."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepward import App
from stepward.client import session_of
from stepward.errors import AlertRefused
from stepward.model.alerts.alert_routing import AlertNews
from stepward.model.records import Alert
from stepward.observers.queue_sink import QueueSink
from stepward.transport.store.store_queues import StoreQueues

ALERT = Alert(number=7, at=1_700_000_000.0, kind="undo_failed", task="uid-1", task_id="order-1", message="no")


async def test_an_application_reads_an_alert_and_its_end_from_its_queue(tmp_path: Path) -> None:
    app = App("shop", workflows=[], store=f"sqlite:///{tmp_path}/shop.db")
    async with app.client() as client:
        queues = StoreQueues(session_of(client).store.messages, poll=1.0)
        sink = QueueSink("alerts", queues, app="shop", console_url="https://console.example.com")
        for news in (AlertNews.RAISED, AlertNews.RESOLVED, AlertNews.RAISED):
            await sink.deliver(ALERT, news)
        events = client.events("replies.shop.alerts")
        found = [await anext(events), await anext(events)]
        await queues.close()
    assert [event.type for event in found] == ["dev.stepward.alert", "dev.stepward.alert.resolved"]
    raised = found[0]
    assert (raised.id, raised.subject, raised.data["severity"]) == ("alert-7", "order-1", "critical")
    assert raised.data["link"] == "https://console.example.com/tasks/order-1#cause"


async def test_without_queues_an_alert_is_refused() -> None:
    with pytest.raises(AlertRefused, match=r"^queue alerts: expected the application's queues, found none"):
        await QueueSink("alerts", None, app="shop").deliver(ALERT, AlertNews.RAISED)
