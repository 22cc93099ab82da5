"""A process that an operator drains: it starts nothing more, finishes what runs and gives its tasks back."""

from __future__ import annotations

import asyncio

import pytest

from stepward import Agent, Client, InstanceNotFound, workflow
from stepward.model.records import Instance, Role
from tests.scheduler.world import World, until


async def alive(client: Client, role: Role) -> list[Instance]:
    return [each for each in await client.instances() if each.alive and each.role is role]


async def test_a_drained_process_ends_and_another_continues_its_tasks(world: World) -> None:
    bank = Agent("bank", concurrency=4)
    running: list[str] = []
    let_go = asyncio.Event()

    @bank.operation(complete_by="5m")
    async def charge(what: str) -> str:
        running.append(what)
        await let_go.wait()
        return what

    @workflow
    async def order(what: str) -> list[str]:
        return [await charge(f"{what}/1"), await charge(f"{what}/2")]

    drained = await world.run(world.app([order], [bank], transport="store"))
    client = await world.start([order], [bank], transport="store")
    handles = await client.submit_many(order, [(str(number),) for number in range(8)])
    await until(lambda: settled(len(running) == 8))
    instance = drained.host.scheduler.instance if drained.host.scheduler is not None else ""
    assert await client.drain_instance(instance)
    assert not await client.drain_instance(instance)
    waiting = asyncio.create_task(drained.wait())
    await asyncio.sleep(5)
    let_go.set()
    for number, handle in enumerate(handles):
        assert await handle.result(timeout=200) == [f"{number}/1", f"{number}/2"]
    async with asyncio.timeout(60):
        await waiting
    await until(lambda: ended(client, instance))
    assert len(await alive(client, Role.SCHEDULER)) == len(await alive(client, Role.AGENT)) == 1
    assert [(await handle.status()).failure_count for handle in handles] == [0] * 8
    assert sorted(running) == sorted(f"{number}/{step}" for number in range(8) for step in (1, 2))
    acts = [(act.act, act.details) for act in await client.audits()]
    assert ("drain", f'{{"instance":"{instance}"}}'.encode()) in acts
    with pytest.raises(InstanceNotFound, match="expected one that is alive"):
        await client.drain_instance(instance)


async def test_a_process_that_is_drained_takes_no_task_meanwhile(world: World) -> None:
    bank = Agent("bank")
    let_go = asyncio.Event()

    @bank.operation(complete_by="5m")
    async def charge(what: str) -> str:
        if what == "slow":
            await let_go.wait()
        return what

    @workflow
    async def order(what: str) -> str:
        return await charge(what)

    app = world.app([order], [bank])
    running = await world.run(app)
    client = await world.client(app)
    slow = await client.submit(order, "slow")
    await asyncio.sleep(1)
    (scheduler,) = await alive(client, Role.SCHEDULER)
    await client.drain_instance(scheduler.id)
    await asyncio.sleep(5)
    late = await client.submit(order, "late")
    await asyncio.sleep(5)
    assert (await late.status()).state == "pending"
    let_go.set()
    await running.wait()
    await until(lambda: ended(client, scheduler.id))
    assert [(await task.status()).locked_by for task in (slow, late)] == [None, None]


async def settled(is_so: bool) -> bool | None:
    return is_so or None


async def ended(client: Client, id: str) -> bool | None:
    return all(each.ended for each in await client.instances() if each.id == id) or None
