"""Tests of sinks of alerts: the leading Supervisor delivers them, and its answer is waited for."""

from __future__ import annotations

from pathlib import Path

from stepward import App, Client
from stepward.client import session_of
from stepward.client.sink_tests import answer_to_test
from tests.observers.receiver import receiving

SECRET = "0123456789abcdef"


async def sink_test(client: Client, name: str) -> int:
    """The number of a test, once the leader has reported its sinks."""
    store = session_of(client).store
    for _ in range(600):
        number = await store.operators.test_sink(name, "ada")
        if number is not None:
            return number
        await answer_to_test(store, 0, 0.5)
    raise AssertionError("no Supervisor has reported its sinks")


async def test_a_sink_that_refuses_a_test_answers_with_its_reason(tmp_path: Path) -> None:
    async with receiving() as receiver:
        receiver.answer = b"HTTP/1.1 503 Service Unavailable\r\n\r\n"
        sinks = {"ops": {"type": "webhook", "url": receiver.url, "secret": SECRET}}
        app = App("shop", workflows=[], store=f"sqlite:///{tmp_path}/shop.db", alert_sinks=sinks)
        async with app.running(), app.client() as client:
            store = session_of(client).store
            log = await answer_to_test(store, await sink_test(client, "log"))
            assert log is not None and log.raised_at is not None
            ops = await answer_to_test(store, await sink_test(client, "ops"))
            assert ops is not None and ops.error is not None
            assert (ops.raised_at, ops.error.partition(": ")[2]) == (
                None,
                "expected an answer of 200 to 299, found 503",
            )


async def test_a_test_that_no_supervisor_delivers_has_no_answer(tmp_path: Path) -> None:
    async with App("shop", workflows=[], store=f"sqlite:///{tmp_path}/shop.db").client() as client:
        assert await answer_to_test(session_of(client).store, 1, 0.0) is None
