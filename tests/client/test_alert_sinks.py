"""Tests of sinks of alerts: the leading Supervisor delivers them, and its answer is waited for."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from stepward import AlertSinks, App, Client, Refused, SinkNotFound
from tests.until import until


async def ready(client: Client) -> AlertSinks:
    """The sinks, once the leader has reported them."""
    sinks = client.alert_sinks
    await until(sinks.reported, bool)
    return sinks


async def test_a_sink_that_is_not_there_is_refused_with_those_that_are(tmp_path: Path) -> None:
    app = App("shop", workflows=[], store=f"sqlite:///{tmp_path}/shop.db")
    async with app.running(), app.client() as client:
        with pytest.raises(SinkNotFound, match=r"^sink pager: .* \(log\), found none such"):
            await (await ready(client)).test("pager")


async def test_a_test_that_no_supervisor_delivers_times_out(tmp_path: Path) -> None:
    app = App("shop", workflows=[], store=f"sqlite:///{tmp_path}/shop.db")
    async with app.client() as client:
        async with app.running():
            await ready(client)
        with pytest.raises(TimeoutError, match=r"^sink log: expected a Supervisor to deliver the test within 10ms"):
            await client.alert_sinks.test("log", timeout="10ms")


def test_code_without_an_event_loop_tests_a_sink_too(tmp_path: Path) -> None:
    with App("shop", workflows=[], store=f"sqlite:///{tmp_path}/shop.db").sync_client() as client:
        assert client.alert_sinks.reported() == []
        assert client.alert_sinks.receipts(1) == []
        with pytest.raises(SinkNotFound, match="found none such"):
            client.alert_sinks.test("log")
        with pytest.raises(SinkNotFound, match="found none such"):
            client.alert_sinks.send_test("log")


async def test_a_silence_without_an_end_is_refused(tmp_path: Path) -> None:
    app = App("shop", workflows=[], store=f"sqlite:///{tmp_path}/shop.db")
    async with app.client() as client:
        with pytest.raises(Refused, match="until: expected an instant or a duration from now, found None"):
            await client.alert_sinks.silence("task_error", cast(str, None))
        assert await client.alert_sinks.silences() == []
