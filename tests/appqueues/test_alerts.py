"""Alerts as events in a response queue at a broker, which an application without the store reads."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from stepward import App, Queues, workflow
from tests.transport.brokers import clear, new_app
from tests.until import until

pytestmark = pytest.mark.servers


@workflow
async def fail() -> None:
    raise ValueError("the books do not agree")


async def test_an_alert_and_its_end_reach_a_queue_at_the_broker_and_a_test_is_taken(
    address: str, tmp_path: Path
) -> None:
    name = new_app()
    app = App(
        name,
        workflows=[fail],
        store=f"sqlite:///{tmp_path}/shop.db",
        transport=address,
        alert_sinks={"desk": {"type": "queue", "queue": "alerts"}},
    )
    try:
        async with asyncio.timeout(100), app.running(), app.client() as client, Queues(address, app=name) as queues:
            events = queues.events(f"replies.{name}.alerts")
            task = await client.submit(fail, id="order-1")
            raised = await anext(events)
            assert (raised.type, raised.subject) == ("dev.stepward.alert", "order-1")
            assert raised.data["kind"] == "task_error"
            await task.cancel()
            resolved = await anext(events)
            assert (resolved.type, resolved.id) == ("dev.stepward.alert.resolved", f"{raised.id}-resolved")
            await until(client.alert_sinks.reported, lambda sinks: {"desk", "log"} == {sink.name for sink in sinks})
            receipt = await client.alert_sinks.test("desk", timeout="30s")
            assert receipt.raised_at is not None and receipt.error is None
            assert (await anext(events)).data["kind"] == "sink_test"
    finally:
        await clear(address, name)
