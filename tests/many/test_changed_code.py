"""Changed code under a running task on PostgreSQL: nothing is called, and the right code goes on from there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from stepward import Agent, App, TaskHandle, patched, wait_for, workflow
from stepward.model.states import TaskState
from stepward.model.tasks.stopped_tasks import WAITS_FOR
from stepward.workflow.definition import Workflow
from tests.many.gate import PATIENCE
from tests.store.postgres.worlds import Database

pytestmark = pytest.mark.servers

shop = Agent("shop")
CALLED: list[str] = []


@shop.operation(complete_by="30s")
async def charge(what: str) -> str:
    CALLED.append(f"charge {what}")
    return what


@shop.operation(complete_by="30s")
async def ship(what: str) -> str:
    CALLED.append(f"ship {what}")
    return what


def code(change: str = "") -> Workflow[[], Any]:
    @workflow(name="order")
    async def order() -> str:
        await (ship("instead") if change == "renamed" else charge("a"))
        if change == "raises":
            raise KeyError("typo")
        if change == "patched" and patched("more"):
            await ship("never")
        if change != "removed":
            await asyncio.gather(ship("left"), ship("right"))
        await wait_for("go")
        await charge("last")
        return "whole"

    return order


async def until(look: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await look():  # noqa: ASYNC110  another process could bring it about
            await asyncio.sleep(0.02)


async def stands(handle: TaskHandle, waits_for: str) -> bool:
    status = await handle.status()
    return (status.state, status.waits_for) == (TaskState.WAITING, waits_for)


@pytest.mark.parametrize("change", ["renamed", "removed", "raises", "patched"])
async def test_a_deploy_that_does_not_fit_calls_nothing_and_one_that_does_goes_on(
    database: Database, change: str
) -> None:
    CALLED.clear()

    def app(change: str) -> App:
        return App("shop", workflows=[code(change)], agents=[shop], store=database.address)

    async with (old := app("")).running(), old.client() as client:
        handle = await client.submit(code())
        await until(lambda: stands(handle, "signal go"))
    called = list(CALLED)
    async with (new := app(change)).running(), new.client() as client:
        handle = client.task(handle.id)
        await handle.signal("go")
        if change == "patched":
            assert await handle.result(timeout=PATIENCE) == "whole"
            assert [*called, "charge last"] == CALLED
            return
        await until(lambda: stands(handle, WAITS_FOR))
        assert "the record " in str((await handle.status()).error)
        assert [alert.kind for alert in await client.alerts()] == ["non_deterministic"]
    assert called == CALLED
    async with (old := app("")).running(), old.client() as client:
        assert await client.task(handle.id).result(timeout=PATIENCE) == "whole"
        assert await client.alerts() == []
    assert [*called, "charge last"] == CALLED
