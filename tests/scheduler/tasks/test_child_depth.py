"""Children of children: so many tasks stand above one another and no more."""

from __future__ import annotations

import contextlib

from stepward import StepFailed, workflow
from stepward.model.states import TaskState
from tests.scheduler.world import Service, World, in_state, states


@workflow
async def descend(level: int) -> int:
    return 1 + int(await descend(level + 1))


@workflow
async def turn_back(level: int) -> int:
    try:
        return 1 + int(await turn_back(level + 1))
    except StepFailed as error:
        assert "expected at most 5 tasks above one another (child_depth), found one more" in str(error)
        return 0


async def test_endless_recursion_ends_as_a_failed_step(world: World) -> None:
    client = await world.start([descend], child_depth=5)
    handle = await client.submit(descend, 0, id="t")
    await in_state(handle, TaskState.ERROR, TaskState.UNDONE)
    tasks = await client.tasks(limit=100)
    assert len(tasks) == 6
    deepest = max(tasks, key=lambda task: len(task.id))
    assert await states(client.task(deepest.id)) == {"descend/1": "failed"}
    assert "use a loop or continue_as_new in place of recursion" in str((await client.task(deepest.id).status()).error)


async def test_a_workflow_may_catch_that_it_stands_too_deep(world: World) -> None:
    client = await world.start([turn_back], child_depth=5)
    handle = await client.submit(turn_back, 0, id="t")
    assert await handle.result(timeout=60) == 5


async def test_asking_again_and_again_ends_with_the_history(world: World, service: Service) -> None:
    @workflow
    async def stubborn() -> None:
        while True:
            with contextlib.suppress(StepFailed):
                await stubborn()

    @workflow
    async def parent() -> None:
        await stubborn()

    @workflow
    async def other() -> str:
        return await service.do("a")

    client = await world.start([parent, stubborn, other], [service.agent], child_depth=1, history_steps=3_000)
    handle = await client.submit(parent, id="t")
    assert await (await client.submit(other)).result(timeout=60) == "a done"
    await in_state(handle, TaskState.ERROR, TaskState.UNDONE)
    child = client.task("t/stubborn/1")
    await in_state(child, TaskState.ERROR)
    assert "expected at most 3,000 steps in a run" in str((await child.status()).error)
