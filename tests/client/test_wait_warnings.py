"""A caller that waits is warned of what keeps its task from ending, and of nothing while everything works."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from stepward import Agent, App, Client, workflow
from stepward.client import session_of
from stepward.client.agent_status import LATE_SECONDS
from stepward.client.waiting import wait_warnings
from stepward.client.waiting.wait_hindrances import WaitView, hindrance
from stepward.model.records import Instance, Role, Task
from stepward.model.states import TaskState

NOW = 1_000.0
SERVED = "order@1"
TASKS = 150
pay = Agent("pay", concurrency=2)


@pay.operation(complete_by="60s")
async def charge(card: str) -> str:
    return card


@workflow
async def order(card: str) -> str:
    return await charge(card)


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> App:
    for name in ("FIRST_LOOK_SECONDS", "CONFIRM_SECONDS"):
        monkeypatch.setattr(wait_warnings, name, 0.01)
    address = f"sqlite:///{tmp_path}/shop.db"
    return App("shop", workflows=[order], agents=[pay], store=address, transport="store", lease="1s")


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
        owner = Instance(id="s1", role=Role.SCHEDULER, host="h", pid=7, serves=[SERVED])
        await store.host.register(owner, -LATE_SECONDS - 5)
        await store.scheduler.claim("s1", [("order", "1")], 1)
        line = await warned(client, "o", caplog)
        assert line.startswith(
            "task o: expected it to continue, found it processing and the lease of s1 (process 7 on h) late by 15"
        )
        assert line.endswith("see whether that process and a Supervisor run: stepward check")


async def test_a_caller_is_warned_once(app: App, caplog: pytest.LogCaptureFixture) -> None:
    async with app.client() as client:
        handle = await client.submit(order, "1", id="o")
        with pytest.raises(TimeoutError):
            await handle.result(timeout=0.5)
    assert len(lines(caplog)) == 1


async def test_a_healthy_system_under_load_warns_of_nothing(app: App, caplog: pytest.LogCaptureFixture) -> None:
    async with app.running(), app.client() as client:
        handles = await client.submit_many(order, [(str(number),) for number in range(TASKS)])
        results = await asyncio.gather(*(handle.result(timeout="60s") for handle in handles))
    assert results == [str(number) for number in range(TASKS)]
    assert lines(caplog) == []


async def test_what_one_look_alone_finds_warns_of_nothing(app: App, caplog: pytest.LogCaptureFixture) -> None:
    """As in a restart or a takeover, which is over before the second look."""
    views = [view(11), view(0), view(11), view(0)]
    looked = asyncio.Event()

    async def look() -> WaitView:
        if len(views) == 1:
            looked.set()
        return views.pop(0) if len(views) > 1 else views[0]

    with wait_warnings.WaitWarning(look):
        await looked.wait()
    assert lines(caplog) == []


def view(lateness: float, **task: Any) -> WaitView:
    record = Task(uid="u", id="o", workflow="order", version="1", state=TaskState.PROCESSING, locked_by="s1", **task)
    owner = Instance(id="s1", role=Role.SCHEDULER, host="h", pid=7, serves=[SERVED], expires_at=NOW - lateness)
    return WaitView(task=record, instances=[owner], now=NOW)


@pytest.mark.parametrize(("lateness", "kind"), [(-1, None), (0.1, None), (10, None), (10.1, "lease")])
def test_a_lease_counts_as_late_once_a_supervisor_should_have_acted(lateness: float, kind: str | None) -> None:
    found = hindrance(view(lateness))
    assert (found and found.kind) == kind
