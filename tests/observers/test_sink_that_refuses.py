"""A sink that is tested and refuses, over a real socket: here time does not leap."""

from __future__ import annotations

from pathlib import Path

from stepward import App
from tests.client.test_alert_sinks import ready
from tests.observers.receiver import receiving

SECRET = "0123456789abcdef"


async def test_a_sink_that_refuses_a_test_answers_with_its_reason(tmp_path: Path) -> None:
    async with receiving() as receiver:
        receiver.answer = b"HTTP/1.1 503 Service Unavailable\r\n\r\n"
        sinks = {"ops": {"type": "webhook", "url": receiver.url, "secret": SECRET}}
        app = App("shop", workflows=[], store=f"sqlite:///{tmp_path}/shop.db", alert_sinks=sinks)
        async with app.running(), app.client() as client:
            found = await ready(client)
            assert [sink.name for sink in await found.reported()] == ["log", "ops"]
            log = await found.test("log")
            assert log.raised_at is not None and log.error is None
            ops = await found.test("ops", timeout="20s")
            assert ops.error is not None and ops.raised_at is None
            assert ops.error.partition(": ")[2] == "expected an answer of 200 to 299, found 503"
            assert [receipt.sink for receipt in await found.receipts(ops.number)] == ["ops"]
            assert [each.act for each in await client.audits()].count("test") == 2
