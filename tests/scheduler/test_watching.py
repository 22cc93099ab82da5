"""When the Supervisor is shown a step: a second after it started, whatever else was started before it."""

from __future__ import annotations

import pytest

from stepward import Backoff, Supervision, step, workflow
from tests.scheduler.world import Service, World, hang


@pytest.mark.parametrize("transaction", [False, True])
async def test_a_long_local_step_delays_no_recovery(world: World, service: Service, transaction: bool) -> None:
    if transaction:

        @step(transaction=True, complete_by="1h")
        async def begin(connection: object) -> str:
            return "begun"

    else:

        @step(complete_by="1h")
        async def begin() -> str:
            return "begun"

    @workflow(supervision=Supervision(backoff=Backoff("1s")))
    async def order() -> str:
        await begin()
        return await service.do("a")

    service.plan("do a", hang())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    # One attempt of 10 s, a pause of 1 s, each seen at most two seconds late.
    assert await handle.result(timeout=15) == "a done"


async def test_a_local_step_past_its_complete_by_is_repeated(world: World) -> None:
    calls = []

    @step(complete_by="2s")
    async def think() -> str:
        calls.append(1)
        if len(calls) == 1:
            await hang()()
        return "thought"

    @workflow(supervision=Supervision(backoff=Backoff("1s")))
    async def order() -> str:
        return await think()

    client = await world.start([order])
    handle = await client.submit(order)
    assert await handle.result(timeout=10) == "thought"
    assert (await handle.status()).failure_count == 1
