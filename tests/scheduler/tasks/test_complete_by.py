"""The pattern's CompleteBy: set while a task is worked on, and the same wherever it is read (R22, R23)."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence

import pytest

from stepward import Client, wait_for, workflow
from stepward.client import session_of
from stepward.client.task_status import StepRecord
from stepward.model.states import StepState, TaskState
from stepward.store.contract import Change, Committed
from stepward.store.sqlite.hot.scheduler import SqliteScheduler
from tests.scheduler.world import Service, World, hang, in_state, take, until


async def _read_everywhere(client: Client, id: str) -> float | None:
    """What the row, ``status()`` and ``tasks()`` say; all the same."""
    status, row = await client.task(id).status(), await session_of(client).record(id)
    (listed,) = [each for each in await client.tasks() if each.id == id]
    assert status.complete_by == row.complete_by == listed.complete_by
    found: float | None = row.complete_by
    return found


async def test_a_task_that_is_worked_on_has_the_complete_by_of_its_step(world: World, service: Service) -> None:
    @workflow
    async def order() -> None:
        await service.do("a")

    service.plan("do a", hang())
    client = await world.start([order], [service.agent])
    await client.submit(order, id="born")
    (step,) = await until(lambda: _running(client, "born"))
    assert await _read_everywhere(client, "born") == math.ceil(step.complete_by or 0)


async def test_a_task_that_was_claimed_has_the_complete_by_of_its_step(world: World, service: Service) -> None:
    @workflow
    async def order() -> None:
        await service.do("a")

    service.plan("do a", hang())
    app = world.app([order], [service.agent])
    async with app.client() as before:
        await before.submit(order, id="claimed")
        assert await _read_everywhere(before, "claimed") is None
    await world.run(app)
    client = await world.client(app)
    (step,) = await until(lambda: _running(client, "claimed"))
    found = await _read_everywhere(client, "claimed")
    assert found is not None
    assert step.complete_by is not None
    assert (
        step.complete_by <= found <= math.ceil(step.complete_by) + 1 + (step.complete_by - (step.started_at or 0)) / 4
    )


async def test_the_complete_by_follows_the_steps_and_ends_with_the_task(world: World, service: Service) -> None:
    @workflow
    async def order() -> object:
        await asyncio.gather(*[service.do(f"{n}") for n in range(3)])
        await service.do("last")
        return await wait_for("go")

    for n in range(3):
        service.plan(f"do {n}", take(3 * n))
    service.plan("do last", take(3))
    client = await world.start([order], [service.agent])
    handle = await client.submit(order, id="o")
    for _ in range(40):
        running = [
            each for each in await handle.steps() if each.state is StepState.RUNNING and each.kind == "operation"
        ]
        found = await _read_everywhere(client, "o")
        if running:
            latest = max(each.complete_by or 0 for each in running)
            assert found is not None
            assert latest <= found <= latest + 10
        await asyncio.sleep(0.25)
    await in_state(handle, TaskState.WAITING)
    assert await _read_everywhere(client, "o") is None
    await handle.signal("go", 1)
    await handle.result(timeout=5)
    assert await _read_everywhere(client, "o") is None


async def test_the_deadline_of_the_whole_task_stands_beside_it(world: World, service: Service) -> None:
    @workflow(complete_by="1h")
    async def order() -> None:
        await service.do("a")

    service.plan("do a", hang())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order, id="o")
    (step,) = await until(lambda: _running(client, "o"))
    status = await handle.status()
    assert status.deadline == status.created_at + 3600
    assert status.complete_by == math.ceil(step.complete_by or 0)


async def test_an_undo_has_a_complete_by_too(world: World, service: Service) -> None:
    @workflow
    async def order() -> object:
        await service.do("a")
        return await wait_for("never")

    service.plan("undo a", hang())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order, id="o")
    await in_state(handle, TaskState.WAITING)
    await handle.cancel()
    (step,) = await until(lambda: _running(client, "o"))
    assert step.kind == "undo"
    found = await _read_everywhere(client, "o")
    assert found is not None
    assert found >= (step.complete_by or 0)


async def _running(client: Client, id: str) -> list[StepRecord]:
    return [each for each in await client.task(id).steps() if each.state is StepState.RUNNING]


async def test_quick_steps_cost_no_write_of_it(world: World, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    written = list[float]()
    commit = SqliteScheduler.commit

    async def counted(
        self: SqliteScheduler, instance: str, changes: Sequence[Change], renew: float | None
    ) -> Committed:
        written.extend(change.complete_by for change in changes if change.complete_by is not None)
        return await commit(self, instance, changes, renew)

    @workflow
    async def order() -> None:
        for n in range(20):
            await service.do(f"{n}")

    monkeypatch.setattr(SqliteScheduler, "commit", counted)
    client = await world.start([order], [service.agent])
    began = session_of(client).store.now()
    await (await client.submit(order)).result(timeout=60)
    assert len(written) <= session_of(client).store.now() - began + 1
