"""An undo names the key under which the service acted, which is another after an operator's resubmission."""

from __future__ import annotations

import pytest

from stepward import Agent, Retry, TaskFailed, TaskUndone, Unrecoverable, current_step, workflow
from stepward.model.states import TaskState
from tests.scheduler.world import World, in_state


async def test_an_undo_names_the_generation_that_acted(world: World) -> None:
    agent = Agent("parcels", retry=Retry(attempts=1))
    acted: list[str] = []
    undone: list[str | None] = []

    @agent.operation()
    async def create(address: str) -> str:
        if not address:
            raise Unrecoverable("no address")
        acted.append(current_step().idempotency_key)
        return "tracking"

    @create.undo
    async def cancel(tracking: str | None, address: str) -> None:
        undone.append(current_step().undoes)

    @workflow
    async def order(address: str) -> str:
        return await create(address)

    client = await world.start([order], [agent])
    handle = await client.submit(order, "")
    with pytest.raises(TaskFailed):
        await handle.result(timeout=10)
    await handle.resubmit(input=["Harbour Street 5"])
    await in_state(handle, TaskState.PROCESSED)
    await handle.undo()
    await in_state(handle, TaskState.UNDONE)
    with pytest.raises(TaskUndone):
        await handle.result(timeout=10)
    assert acted == undone
    assert acted[0].endswith("#1")
