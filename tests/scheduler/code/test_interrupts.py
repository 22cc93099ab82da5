"""Code of the application that raises what ends processes: one task pays for it, and everything else goes on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from stepward import TaskFailed, current_step, step, workflow
from stepward.model.states import TaskState
from tests.scheduler.world import Service, World, in_state

ENDING = [KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError]


@pytest.mark.parametrize("kind", ENDING)
async def test_workflow_code_that_raises_anything_ends_its_own_task(
    world: World, service: Service, kind: type[BaseException]
) -> None:
    @workflow
    async def order(is_bad: bool) -> str:
        await service.do("a")
        if is_bad:
            raise kind("typo")
        return "done"

    client = await world.start([order], [service.agent])
    bad = await client.submit(order, True)
    with pytest.raises(TaskFailed, match=kind.__name__ if kind is asyncio.CancelledError else "typo"):
        await bad.result(timeout=10)
    assert await (await client.submit(order, False)).result(timeout=10) == "done"
    assert not world.told("actor.failed")


@pytest.mark.parametrize("in_thread", [False, True])
@pytest.mark.parametrize("kind", [*ENDING, type("Own", (BaseException,), {})])
async def test_a_local_step_that_raises_anything_is_a_failed_attempt(
    world: World, kind: type[BaseException], in_thread: bool
) -> None:
    attempts: list[str] = []

    def work() -> str:
        attempts.append(current_step().name)
        if len(attempts) == 1:
            raise kind
        return "done"

    @step(complete_by="1h")
    async def in_loop() -> str:
        return work()

    @step(complete_by="1h")
    def beside() -> str:
        return work()

    @workflow
    async def order() -> str:
        return await (beside() if in_thread else in_loop())

    client = await world.start([order])
    handle = await client.submit(order)
    assert await handle.result(timeout=300) == "done"
    (row,) = await handle.steps()
    assert (row.attempt, row.failure_count) == (2, 1)


class Mute:
    """What an application returns by mistake."""

    def __init__(self, kind: type[BaseException]) -> None:
        self.kind = kind

    def __repr__(self) -> str:
        raise self.kind

    def __str__(self) -> str:
        raise self.kind


@pytest.mark.parametrize("kind", ENDING[:3])
async def test_a_result_that_cannot_be_shown_ends_its_own_task(world: World, kind: type[BaseException]) -> None:
    @workflow
    async def order(is_bad: bool) -> Any:
        return Mute(kind) if is_bad else "done"

    client = await world.start([order])
    bad = await client.submit(order, True)
    await in_state(bad, TaskState.ERROR)
    assert await (await client.submit(order, False)).result(timeout=10) == "done"


@pytest.mark.parametrize("kind", ENDING[:3])
async def test_an_observer_that_raises_anything_stops_no_actor(world: World, kind: type[BaseException]) -> None:
    @workflow
    async def order() -> str:
        return "done"

    def observer(event: object) -> None:
        raise kind

    app = world.app([order])
    app.observers.add(observer)
    await world.run(app)
    client = await world.client(app)
    assert await (await client.submit(order)).result(timeout=10) == "done"
