"""Signals: in order per name, taken once, duplicates dropped, and kept until they are awaited."""

from __future__ import annotations

import asyncio

import pytest

from stepward import wait_for, workflow
from stepward.errors import IllegalTransition, Refused, TaskNotFound
from stepward.model.states import TaskState
from tests.scheduler.world import Service, World, hang, in_state


@workflow
async def listener(count: int) -> list[object]:
    return [await wait_for("go") for _ in range(count)]


async def test_signals_are_taken_once_and_in_order(world: World) -> None:
    client = await world.start([listener])
    handle = await client.submit(listener, 3)
    for number in range(3):
        assert await handle.signal("go", number)
    assert await handle.result(timeout=5) == [0, 1, 2]


async def test_a_signal_with_an_id_seen_before_is_dropped(world: World) -> None:
    client = await world.start([listener])
    handle = await client.submit(listener, 2)
    assert await handle.signal("go", "first", id="x")
    assert not await handle.signal("go", "again", id="x")
    assert await handle.signal("go", "second", id="y")
    assert await handle.result(timeout=5) == ["first", "second"]


async def test_names_do_not_overtake_one_another(world: World) -> None:
    @workflow
    async def two() -> list[object]:
        return [await wait_for("b"), await wait_for("a")]

    client = await world.start([two])
    handle = await client.submit(two)
    await handle.signal("a", 1)
    await in_state(handle, TaskState.WAITING)
    assert (await handle.status()).waits_for == "signal b"
    await handle.signal("b", 2)
    assert await handle.result(timeout=5) == [2, 1]


async def test_a_signal_that_arrives_before_the_wait_is_kept(world: World, service: Service) -> None:
    @workflow
    async def late() -> object:
        await service.do("work")
        return await wait_for("go")

    reached = asyncio.Event()

    async def wait() -> None:
        await reached.wait()

    service.plan("do work", wait)
    client = await world.start([late], [service.agent])
    handle = await client.submit(late)
    await handle.signal("go", {"by": "early bird"})
    reached.set()
    assert await handle.result(timeout=20) == {"by": "early bird"}


async def test_a_signal_to_a_task_that_is_not_claimed_yet_is_kept(world: World) -> None:
    app = world.app([listener])
    client = await world.client(app)
    await world.run(app, scheduler=False)
    handle = await client.submit(listener, 1)
    await handle.signal("go", 7)
    await world.run(world.app([listener]))
    assert await handle.result(timeout=5) == [7]


async def test_waiting_for_a_signal_ends_at_its_timeout(world: World) -> None:
    @workflow
    async def patient() -> str:
        try:
            await wait_for("go", timeout="1m")
        except TimeoutError:
            return "gave up"
        return "never"

    client = await world.start([patient])
    handle = await client.submit(patient)
    assert await handle.result(timeout="2m") == "gave up"
    status = await handle.status()
    assert status.finished_at is not None
    assert 60 <= status.finished_at - status.created_at < 62


async def test_a_task_that_is_over_takes_no_signal(world: World, service: Service) -> None:
    @workflow
    async def order() -> None:
        await service.do("a")

    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await handle.result(timeout=5)
    with pytest.raises(IllegalTransition, match="has not ended"):
        await handle.signal("go", 1)
    with pytest.raises(TaskNotFound):
        await client.task("nobody").signal("go", 1)
    with pytest.raises(Refused, match="signal: expected a name"):
        await handle.signal("no spaces", 1)


async def test_a_signal_while_a_step_runs_does_not_disturb_it(world: World, service: Service) -> None:
    @workflow
    async def both() -> list[object]:
        first, second = await asyncio.gather(service.do("a"), wait_for("go"))
        return [first, second]

    service.plan("do a", hang())
    client = await world.start([both], [service.agent])
    handle = await client.submit(both)
    await handle.signal("go", 1)
    assert await handle.result(timeout=60) == ["a done", 1]
