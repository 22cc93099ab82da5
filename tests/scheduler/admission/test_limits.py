"""Limits on what runs at once, over several processes that end, die and are changed meanwhile."""

from __future__ import annotations

import asyncio

import pytest

from stepward import Agent, Client, Limit, TaskHandle, workflow
from stepward.client import UNSET
from stepward.errors import AgentNotFound, DeclarationError, Refused, UnknownWorkflow
from stepward.model.limits.rate import RateLimit
from stepward.workflow.definition import Workflow
from tests.scheduler.world import Service, World, until


class Limited(Service):
    """A service of which so many calls may run at once; it counts them."""

    def __init__(self, limit: int | None, seconds: float = 1.0) -> None:
        super().__init__(max_in_flight=limit)
        self.seconds = seconds
        self.running = self.most = 0

    async def _act(self, kind: str, what: str) -> str:
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await asyncio.sleep(self.seconds)
        finally:
            self.running -= 1
        return f"{what} done"


def orders(service: Service) -> Workflow[[str], str]:
    @workflow
    async def order(what: str) -> str:
        return await service.do(what)

    return order


async def submitted(client: Client, order: Workflow[[str], str], count: int) -> list[TaskHandle[str]]:
    return await client.submit_many(order, [(str(number),) for number in range(count)])


@pytest.mark.parametrize("transport", ["local", "store"])
async def test_processes_together_make_no_more_calls_than_the_limit(world: World, transport: str) -> None:
    service = Limited(5)
    order = orders(service)
    # None claims all tasks: each of them has work for its slots.
    clients = [await world.start([order], [service.agent], transport=transport, tasks_in_flight=12) for _ in range(3)]
    handles = [handle for client in clients for handle in await submitted(client, order, 12)]
    for handle in handles:
        await handle.result(timeout=200)
    assert service.most == 5


async def test_fewer_slots_than_processes_serve_all_of_them(world: World) -> None:
    service = Limited(1)
    order = orders(service)
    clients = [await world.start([order], [service.agent], transport="local") for _ in range(2)]
    for handle in [handle for client in clients for handle in await submitted(client, order, 6)]:
        await handle.result(timeout=300)
    assert service.most == 1


async def test_a_limit_is_set_and_reset_while_everything_runs(world: World) -> None:
    service = Limited(4)
    order = orders(service)
    client = await world.start([order], [service.agent])
    await client.set_limit("agent:svc", 2, note="the bank asked for it")
    await asyncio.sleep(1)
    handles = await submitted(client, order, 20)
    await handles[5].result(timeout=60)
    assert service.most == 2
    (found,) = await client.limits()
    assert (found.concurrency, found.declared_concurrency, found.note) == (2, 4, "the bank asked for it")
    assert (found.leased, found.lost) == (2, 0)
    assert await client.reset_limit("agent:svc")
    for handle in handles:
        await handle.result(timeout=60)
    assert service.most == 4
    assert not await client.reset_limit("agent:svc")


async def test_an_agent_without_a_limit_gets_one_and_loses_it_again(world: World) -> None:
    service = Limited(None)
    order = orders(service)
    client = await world.start([order], [service.agent])
    await client.set_limit("agent:svc", 3)
    await asyncio.sleep(1)
    for handle in await submitted(client, order, 12):
        await handle.result(timeout=60)
    assert service.most == 3
    await client.reset_limit("agent:svc")
    await asyncio.sleep(1)
    for handle in await submitted(client, order, 12):
        await handle.result(timeout=60)
    assert service.most == 12
    assert await client.limits() == []


async def test_a_rate_that_is_set_holds_for_all_processes_together(world: World) -> None:
    service = Limited(None, seconds=0.1)
    order = orders(service)
    client = await world.start([order], [service.agent], transport="store")
    await world.start([order], [service.agent], transport="store")
    await client.set_limit("agent:svc", rate="2/s", note="the bank asked for it")
    await asyncio.sleep(4)
    began = asyncio.get_running_loop().time()
    for handle in await submitted(client, order, 13):
        await handle.result(timeout=200)
    assert 5 <= asyncio.get_running_loop().time() - began <= 14
    (found,) = await client.limits()
    assert (found.concurrency, found.rate, found.declared_rate) == (None, "2/1s", None)
    await client.reset_limit("agent:svc")
    await asyncio.sleep(1)
    began = asyncio.get_running_loop().time()
    for handle in await submitted(client, order, 13):
        await handle.result(timeout=200)
    assert asyncio.get_running_loop().time() - began < 2


async def test_a_declared_rate_is_listed_and_one_that_was_set_holds_from_the_start_of_a_process(world: World) -> None:
    service = Limited(None, seconds=0.1)
    service.agent.rate = RateLimit(100, 1.0)
    order = orders(service)
    app = world.app([order], [service.agent])
    client = await world.client(app)
    async with app.running():
        assert [(limit.rate, limit.declared_rate) for limit in await client.limits()] == [("100/1s", "100/1s")]
        await client.set_limit("agent:svc", 7, (2, "1s"))
    async with app.running():
        began = asyncio.get_running_loop().time()
        for handle in await submitted(client, order, 12):
            await handle.result(timeout=200)
        assert 4 <= asyncio.get_running_loop().time() - began <= 7
    (found,) = await client.limits()
    assert (found.concurrency, found.rate, found.declared_rate) == (7, "2/1s", "100/1s")


async def test_a_process_that_ends_gives_its_slots_to_the_others_at_once(world: World) -> None:
    service = Limited(4)
    order = orders(service)
    client = await world.start([order], [service.agent], transport="store")
    async with world.app([order], [service.agent], transport="store").running(scheduler=False):
        await until(lambda: leases(client, [2, 2]))
    await until(lambda: leases(client, [4]))
    assert (await client.limits())[0].lost == 0


async def leases(client: Client, expected: list[int]) -> bool:
    (found,) = await client.limits()
    return found.leased == sum(expected) and len(
        [i for i in await client.instances() if i.alive and i.serves == ["svc"]]
    ) == len(expected)


async def test_tasks_of_a_workflow_are_bounded_over_all_processes(world: World) -> None:
    service = Limited(None)

    @workflow(limit=Limit(3))
    async def order(what: str) -> str:
        return await service.do(what)

    clients = [await world.start([order], [service.agent]) for _ in range(2)]
    handles = [handle for client in clients for handle in await submitted(client, order, 8)]
    handles += [await clients[0].submit(order, "alone")]
    for handle in handles:
        await handle.result(timeout=200)
    assert service.most == 3
    (found,) = await clients[0].limits()
    assert (found.name, found.concurrency, found.in_use, found.waiting) == ("workflow:order", 3, 0, 0)


async def test_a_key_has_the_limit_of_its_workflow_for_itself(world: World) -> None:
    service = Limited(None)

    @workflow(limit=Limit(1, per="key"))
    async def order(what: str) -> str:
        return await service.do(what)

    client = await world.start([order], [service.agent])
    handles = [await client.submit(order, str(n), fairness_key=f"tenant-{n % 3}") for n in range(9)]
    for handle in handles:
        await handle.result(timeout=200)
    assert service.most == 3
    await client.set_limit("workflow:order", 2)
    with pytest.raises(UnknownWorkflow, match="did you mean 'order'"):
        await client.set_limit("workflow:ordr", 2)
    for wrong in ({"concurrency": 0}, {"concurrency": 1, "per": "tenant"}):
        with pytest.raises(DeclarationError, match="Limit: expected"):
            Limit(**wrong)


async def test_tasks_of_a_workflow_start_at_its_rate_over_all_processes(world: World) -> None:
    service = Limited(None, seconds=0.1)
    started = list[float]()

    @workflow(limit=Limit(rate="4/s"))
    async def order(what: str) -> str:
        started.append(asyncio.get_running_loop().time())
        return await service.do(what)

    clients = [await world.start([order], [service.agent]) for _ in range(2)]
    handles = [handle for client in clients for handle in await submitted(client, order, 10)]
    for handle in handles:
        await handle.result(timeout=200)
    started.sort()
    assert started[3] - started[0] < 0.5
    assert all(later - first >= 0.9 for first, later in zip(started[4:], started[8:], strict=False))
    assert started[-1] - started[0] == pytest.approx(4, abs=0.5)


async def test_a_rate_is_set_and_shown_while_everything_runs(world: World) -> None:
    service = Limited(None, seconds=0.1)

    @workflow(limit=Limit(5, rate="1000/s", per="key"))
    async def order(what: str) -> str:
        return await service.do(what)

    client = await world.start([order], [service.agent])
    (found,) = await client.limits()
    assert (found.concurrency, found.rate, found.declared_rate) == (5, "1000/1s", "1000/1s")
    await client.set_limit("workflow:order", rate="1/h")
    await asyncio.sleep(1)
    handles = await submitted(client, order, 3)
    await asyncio.sleep(10)
    (found,) = await client.limits()
    assert (found.concurrency, found.rate, found.waiting) == (5, "1/1h", 2)
    await client.reset_limit("workflow:order")
    for handle in handles:
        await handle.result(timeout=60)


async def test_names_and_numbers_that_no_limit_can_have_are_refused(world: World, service: Service) -> None:
    client = await world.start([orders(service)], [service.agent])
    with pytest.raises(AgentNotFound, match="expected one that was ever served"):
        await client.set_limit("agent:scv", 3)
    for name, concurrency, rate in (
        ("svc", 3, None),
        ("agent:svc", 0, None),
        ("agent:svc", True, None),
        ("agent:svc", UNSET, UNSET),
        ("agent:svc", 3, "5"),
        ("agent:svc", 3, "0/s"),
        ("agent:svc", 3, "9000000/s"),
        ("agent:svc", 3, "5/20000d"),
        ("workflow:order", None, "fast"),
    ):
        with pytest.raises(Refused, match="limit"):
            await client.set_limit(name, concurrency, rate)
    with pytest.raises(DeclarationError, match="max_in_flight from 1 to 100,000"):
        Agent("svc", max_in_flight=0)
