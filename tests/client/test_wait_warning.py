"""A caller that waits is warned of what keeps its task from ending."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from stepward import Agent, App, Client, workflow
from stepward.client import session_of, wait_warning
from stepward.model.records import Instance, Role

pay = Agent("pay")


@pay.operation(complete_by="60s")
async def charge(card: str) -> str:
    return card


@workflow
async def order(card: str) -> str:
    return await charge(card)


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> App:
    monkeypatch.setattr(wait_warning, "FIRST_LOOK_SECONDS", 0.01)
    return App("shop", workflows=[order], agents=[pay], store=f"sqlite:///{tmp_path}/shop.db", transport="store")


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "stepward.client"]


async def warned(client: Client, id: str, caplog: pytest.LogCaptureFixture) -> str:
    """The first warning of a caller that waits."""
    waiting = asyncio.ensure_future(client.task(id).result())
    try:
        async with asyncio.timeout(20):
            while not lines(caplog):  # noqa: ASYNC110  nothing is set when a line is logged
                await asyncio.sleep(0.01)
    finally:
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    return lines(caplog)[0]


async def test_a_caller_is_warned_that_no_scheduler_runs(app: App, caplog: pytest.LogCaptureFixture) -> None:
    async with app.client() as client:
        await client.submit(order, "1", id="o")
        assert await warned(client, "o", caplog) == (
            "task o: expected it to continue, found it pending and no live Scheduler; run the application: "
            "async with app.running(), or stepward run APP"
        )


async def test_a_caller_is_warned_that_no_agent_offers_the_operation(
    app: App, caplog: pytest.LogCaptureFixture
) -> None:
    async with app.running(agents=False), app.client() as client:
        await client.submit(order, "1", id="o")
        assert await warned(client, "o", caplog) == (
            "task o: expected it to continue, found it processing and waiting for pay.charge, which no live Agent "
            "offers; start one: stepward agent APP"
        )
        with pytest.raises(TimeoutError, match=r"waiting for pay\.charge, which no live Agent offers; start one"):
            await client.task("o").result(timeout=0.01)


async def test_a_caller_is_warned_that_the_lease_of_the_owner_is_late(
    app: App, caplog: pytest.LogCaptureFixture
) -> None:
    async with app.client() as client:
        store = session_of(client).store
        await client.submit(order, "1", id="o")
        owner = Instance(id="s1", role=Role.SCHEDULER, host="h", pid=7, serves=["order@1"])
        await store.host.register(owner, 0.0)
        await store.scheduler.claim("s1", [("order", "1")], 1)
        said = await warned(client, "o", caplog)
        assert said.startswith(
            "task o: expected it to continue, found it processing and the lease of s1 (process 7 on h)"
        )
        assert said.endswith("see whether that process and a Supervisor run: stepward check")


async def test_a_caller_is_warned_once(
    app: App, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wait_warning, "LONGEST_PAUSE_SECONDS", 0.01)
    async with app.client() as client:
        handle = await client.submit(order, "1", id="o")
        with pytest.raises(TimeoutError):
            await handle.result(timeout=0.5)
    assert len(lines(caplog)) == 1


async def test_a_caller_of_a_task_that_continues_is_not_warned(app: App, caplog: pytest.LogCaptureFixture) -> None:
    async with app.running(), app.client() as client:
        assert await (await client.submit(order, "1")).result(timeout="20s") == "1"
    assert lines(caplog) == []
