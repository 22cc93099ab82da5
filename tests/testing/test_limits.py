"""Limits hold in virtual time as they do in production."""

from __future__ import annotations

import asyncio

from stepward import Agent, App, Limit, workflow
from stepward.testing import environment


async def test_limits_of_agents_and_workflows_hold_in_the_test_environment() -> None:
    bank = Agent("bank", max_in_flight=2)
    running, most = 0, 0

    @bank.operation
    async def pay(number: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(1)
        running -= 1
        return number

    @workflow(limit=Limit(3))
    async def order(number: int) -> int:
        return await pay(number)

    async with environment(App("shop", workflows=[order], agents=[bank])) as env:
        handles = [await env.client.submit(order, number) for number in range(6)]
        assert [await handle.result() for handle in handles] == list(range(6))
        assert most == 2
        found = {limit.name: limit.in_use for limit in await env.client.limits()}
    assert found == {"agent:bank": 0, "workflow:order": 0}
