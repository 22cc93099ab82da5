"""Cleaning up before a run is left, when it gets stuck and an operator helps."""

from __future__ import annotations

import asyncio

from stepward import StepFailed, workflow
from stepward.model.states import TaskState
from tests.scheduler.world import Service, World, hang, in_state, refuse, states


async def test_an_undo_done_by_hand_lets_the_task_be_processed(world: World, service: Service) -> None:
    @workflow
    async def order() -> str:
        try:
            async with asyncio.timeout(3):
                await service.do("slow")
        except TimeoutError:
            return await service.do("quick")
        return "never"

    service.plan("do slow", hang())
    service.plan("undo slow", refuse("gone"))
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await in_state(handle, TaskState.ERROR)
    await handle.mark_done("svc.do/1~undo", None)
    assert await handle.result(timeout=60) == "quick done"
    assert (await states(handle))["svc.do/1"] == "undone"


async def test_an_undo_goes_on_while_an_earlier_step_is_repeated(world: World, service: Service) -> None:
    @workflow
    async def order() -> str:
        try:
            await service.do("a")
        except StepFailed:
            await asyncio.sleep(1)
        try:
            async with asyncio.timeout(3):
                await service.do("slow")
        except TimeoutError:
            return "gave up"
        return "never"

    service.plan("do a", refuse(), hang())
    service.plan("do slow", hang(), hang())
    service.plan("undo slow", refuse("gone"))
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await in_state(handle, TaskState.ERROR)
    await handle.resubmit("svc.do/1", later="undo")
    await asyncio.sleep(5)
    assert service.log == ["undo slow"]
    other = await client.submit(order)
    assert await other.result(timeout=30) == "gave up"
