"""Metrics and health of a process with actors, scraped over HTTP."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from stepward import Agent, App, Unrecoverable, workflow
from stepward.errors import SettingsError, StoreUnavailable
from stepward.events import Event

pay = Agent("pay")
calls: list[str] = []


@pay.operation(complete_by="20s")
async def charge(card: str) -> str:
    calls.append(card)
    if card == "bad":
        raise Unrecoverable("refused")
    if card == "shaky" and calls.count("shaky") < 2:
        raise OSError("try again")
    return card


@workflow
async def order(card: str) -> str:
    return await charge(card)


class Process:
    """An application at work, and what its metrics endpoint answers."""

    def __init__(self, app: App, http: httpx.AsyncClient, running: Any) -> None:
        self.app = app
        self.http = http
        self.running = running

    async def samples(self) -> dict[tuple[str, tuple[str, ...]], float]:
        text = (await self.http.get("/metrics")).text
        return {
            (sample.name, tuple(value for _, value in sorted(sample.labels.items()))): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }

    async def ready(self) -> tuple[int, str]:
        answer = await self.http.get("/readyz")
        return answer.status_code, answer.text


def shop(tmp_path: Path, **settings: Any) -> App:
    settings = {"metrics": "127.0.0.1:0"} | settings
    return App("shop", workflows=[order], agents=[pay], store=f"sqlite:///{tmp_path}/shop.db", **settings)


@pytest.fixture
async def process(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Process]:
    """A process; its lease in seconds may be given as the fixture's parameter."""
    app, urls = shop(tmp_path, lease=getattr(request, "param", 10)), list[str]()
    app.observers.add(lambda event: urls.append(event.fields["url"]) if event.name == "metrics.served" else None)
    calls.clear()
    async with app.running() as running, httpx.AsyncClient(base_url=urls[0]) as http:
        yield Process(app, http, running)


async def test_tasks_steps_and_attempts_are_counted(process: Process) -> None:
    async with process.app.client() as client:
        for card in ("good", "shaky"):
            await (await client.submit(order, card)).result("20s")
        with pytest.raises(Exception, match="refused"):
            await (await client.submit(order, "bad")).result("20s")
    found = await process.samples()
    assert found["stepward_tasks_ended_total", ("processed", "order")] == 2
    assert found["stepward_tasks_ended_total", ("error", "order")] == 1
    assert found["stepward_tasks_submitted_total", ()] == 3
    assert found["stepward_steps_ended_total", ("pay.charge", "completed")] == 2
    assert found["stepward_steps_ended_total", ("pay.charge", "failed")] == 1
    assert found["stepward_step_attempts_total", ("first", "pay.charge")] == 3
    assert found["stepward_step_seconds_count", ("pay.charge",)] == 3
    assert found["stepward_agent_attempt_seconds_count", ("pay", "pay.charge", "completed")] == 2
    assert found["stepward_agent_retries_total", ("pay", "pay.charge")] == 1
    assert found["stepward_turn_seconds_count", ()] >= 3
    assert found["stepward_commit_seconds_sum", ()] > 0
    assert found["stepward_commit_rows_sum", ()] >= 6


async def test_a_process_at_work_is_live_and_ready(process: Process) -> None:
    assert (await process.http.get("/livez")).text == "live\n"
    assert await process.ready() == (200, "ready\n")
    assert (await process.http.get("/other")).status_code == 404
    assert (await process.http.post("/metrics")).status_code == 405


async def test_a_scheduler_that_cannot_commit_is_not_ready(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = asyncio.Event()

    async def commit(*_: Any) -> None:
        failed.set()
        raise StoreUnavailable("disk full")

    process.app.observers.add(
        lambda event: failed.set() if event.name == "store.unavailable" and "tries" in event.fields else None
    )
    monkeypatch.setattr(process.running.store.scheduler, "commit", commit)
    async with process.app.client() as client:
        with pytest.raises(StoreUnavailable):
            await client.submit(order, "good")
        await failed.wait()
        status, says = await process.ready()
        assert (status, says) == (503, "scheduler: expected its commits to succeed, found the store not available\n")
        assert (await process.http.get("/livez")).status_code == 200
        monkeypatch.undo()
        await until_ready(process)
    assert (await process.samples())["stepward_store_unavailable_total", ()] >= 1


@pytest.mark.parametrize("process", [1], indirect=True)
async def test_an_instance_whose_lease_lapsed_is_not_ready(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    async def renew(*_: Any) -> None:
        raise StoreUnavailable("gone")

    monkeypatch.setattr(process.running.store.host, "renew", renew)
    monkeypatch.setattr(process.running.store.scheduler, "commit", renew)
    async with asyncio.timeout(20):
        while "agent: expected the lease" not in (await process.ready())[1]:  # noqa: ASYNC110  nothing is set when a lease is over
            await asyncio.sleep(0.05)


async def until_ready(process: Process) -> None:
    async with asyncio.timeout(20):
        while (await process.ready())[0] != 200:  # noqa: ASYNC110  nothing is set when the store is back
            await asyncio.sleep(0.05)


async def test_a_port_that_is_taken_is_one_clear_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(SettingsError, match=f"metrics: expected an address to listen on, found {address}"):
            async with shop(tmp_path, metrics=address).running():
                pass


async def test_nothing_is_measured_without_an_address(tmp_path: Path) -> None:
    app, seen = shop(tmp_path, metrics=None), list[Event]()
    app.observers.add(seen.append)
    async with app.running(), app.client() as client:
        await (await client.submit(order, "good")).result("20s")
        assert not app.observers.measuring
    assert not [event.name for event in seen if event.name in ("turn.committed", "agent.attempted")]


@pytest.mark.parametrize("value", ["here", "1.2.3.4:99999", "host:", True])
def test_an_address_is_a_port_or_host_and_port(value: Any) -> None:
    with pytest.raises(SettingsError, match=r"metrics .*: expected a port, HOST:PORT or \[ADDRESS\]:PORT"):
        App("shop", metrics=value)
