"""Local steps that do not stop at their complete-by: replaced up to a bound, alerted, shown."""

from __future__ import annotations

import asyncio
import contextlib
import threading

from stepward import current_step, step, workflow
from stepward.scheduler.admission.windows import LOCAL_ROOM
from tests.scheduler.world import World


async def test_functions_that_never_return_use_up_no_thread_of_others(world: World) -> None:
    never = threading.Event()

    @step(complete_by="20s")
    def block() -> str:
        if current_step().attempt == 1:
            never.wait()
        return "done"

    @workflow
    async def order() -> str:
        return await block()

    app = world.app([order])
    running = await world.run(app)
    client = await world.client(app)
    count = LOCAL_ROOM.requests
    handles = [await client.submit(order) for _ in range(count)]
    for handle in handles:
        assert await handle.result(timeout=300) == "done"
    scheduler = running.host.scheduler
    assert scheduler is not None
    (health,) = scheduler.health()
    assert (health.stuck, health.capacity) == (count, count)
    assert len(world.told("scheduler.step_stuck")) == count
    never.set()


async def test_a_coroutine_that_swallows_its_cancellation_is_reported_and_shown(world: World) -> None:
    @step(complete_by="2s")
    async def stay() -> str:
        if current_step().attempt > 1:
            return "done"
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(1000)

    @workflow
    async def order() -> str:
        return await stay()

    app = world.app([order], lease="3s")
    await world.run(app)
    client = await world.client(app)
    handle = await client.submit(order)
    assert await handle.result(timeout=60) == "done"
    await asyncio.sleep(10)
    (stuck,) = world.told("scheduler.step_stuck")
    assert (stuck["task"], stuck["step"], stuck["attempt"]) == (handle.id, "stay/1", 1)
    shown = [health for each in await client.instances() for health in each.health if health.agent == "local steps"]
    assert [health.stuck for health in shown] == [1]
