"""Work goes to healthy Agents with room: suspension, shared breakers and rates, windows divided and opened slowly."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from stepward import Client, step, workflow
from stepward.client.agent_status import AgentState
from stepward.errors import AgentNotFound
from stepward.model.states import TaskState
from stepward.policies import CircuitBreaker, Supervision
from stepward.workflow.definition import Workflow
from tests.scheduler.world import Service, World, fault, in_state, states, take, until, until_set

ALONE = {"agents": False, "supervisor": False}
AGENTS = {"scheduler": False, "supervisor": False}
OPENS = CircuitBreaker(2, reset_after=10)
PATIENT = Supervision(threshold=50)


def orders(service: Service) -> Workflow[[str], str]:
    @workflow(supervision=PATIENT)
    async def order(what: str) -> str:
        return await service.do(what)

    return order


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_a_suspended_agent_is_asked_nothing_and_what_is_under_way_ends(world: World, service: Service) -> None:
    order = orders(service)
    gate = asyncio.Event()
    service.plan("do a", until_set(gate))
    await world.run(world.app([order], [service.agent]))
    # An operator's client, of another process.
    client = await world.client(world.app([order]))
    first = await client.submit(order, "a", id="a")
    await until(lambda: asked(service, "do a"))
    assert await client.suspend_agent("svc", "the bank asked for it")
    await asyncio.sleep(1)
    second = await client.submit(order, "b", id="b")
    gate.set()
    assert await first.result(timeout=10) == "a done"
    # Longer than it takes until an alert is raised for an unserved Agent.
    await asyncio.sleep(60)
    assert await states(second) == {"svc.do/1": "not_started"}
    assert await client.alerts() == []
    (found,) = await client.agents()
    assert (found.state, found.note, found.asked) == (AgentState.SUSPENDED, "the bank asked for it", 1)
    assert await client.resume_agent("svc")
    assert await second.result(timeout=2) == "b done"
    (done,) = await second.steps()
    assert (done.attempt, done.failure_count) == (1, 0)


async def test_steps_of_other_agents_go_on_beside_a_suspended_one(world: World, service: Service) -> None:
    other = Service("other")

    @step()
    async def local() -> str:
        return "here"

    @workflow
    async def mixed() -> list[str]:
        return [await other.do("x"), await local()]

    client = await world.start([mixed], [service.agent, other.agent])
    await client.suspend_agent("svc")
    await asyncio.sleep(1)
    assert await (await client.submit(mixed)).result(timeout=5) == ["x done", "here"]


async def test_tasks_that_wait_for_a_suspended_agent_keep_none_of_other_agents_out(
    world: World, service: Service
) -> None:
    other = Service("other")

    @workflow
    async def elsewhere() -> str:
        return await other.do("x")

    order = orders(service)
    app = world.app([order, elsewhere], [service.agent, other.agent], tasks_in_flight=5)
    await world.run(app)
    client = await world.client(app)
    await client.suspend_agent("svc")
    await asyncio.sleep(1)
    held_up = await client.submit_many(order, [(f"{n}",) for n in range(20)])
    await asyncio.sleep(1)
    assert await (await client.submit(elsewhere)).result(timeout=5) == "x done"
    await client.resume_agent("svc")
    assert [await task.result(timeout=30) for task in held_up] == [f"{n} done" for n in range(20)]


async def test_only_an_agent_that_was_served_is_suspended(world: World, service: Service) -> None:
    client = await world.start([orders(service)], [service.agent])
    with pytest.raises(AgentNotFound, match=r"expected one that was ever served \(svc\), found none such"):
        await client.suspend_agent("scv")
    with pytest.raises(AgentNotFound, match=r"Agent '5': expected one that was ever served"):
        await client.suspend_agent(5)  # type: ignore[arg-type]
    assert await client.suspend_agent("svc")
    assert not await client.suspend_agent("svc")
    assert await client.resume_agent("svc")
    assert not await client.resume_agent("svc")


async def test_a_breaker_is_shared_between_processes_and_one_probe_closes_it(world: World) -> None:
    one, other = (Service(concurrency=4, breaker=OPENS) for _ in range(2))
    down, called_at = [True], list[float]()

    async def act() -> None:
        called_at.append(now())
        await asyncio.sleep(0.2)
        if down[0]:
            await fault()()

    for service in (one, other):
        for number in range(40):
            service.plan(f"do {number}", *[act] * 20)
    order = orders(one)
    for service in (one, other):
        await world.run(world.app([order], [service.agent], transport="store"), **AGENTS)
    client = await world.start([order], transport="store")
    handles = [await client.submit(order, str(number), id=str(number)) for number in range(20)]
    await until(lambda: state_of(client, AgentState.BREAKER_OPEN))
    opened_at = now()
    await asyncio.sleep(1)
    before = len(called_at)
    await asyncio.sleep(opened_at + 9.5 - now())
    assert len(called_at) == before
    # The first probe fails, which keeps it closed to all; the second finds the service back.
    await asyncio.sleep(3)
    assert len(called_at) == before + 1
    assert await state_of(client, AgentState.BREAKER_OPEN)
    down[0] = False
    await asyncio.gather(*[handle.result(timeout=120) for handle in handles])
    counts = [(await client.task(str(number)).steps())[0].failure_count for number in range(20)]
    # Requests out when it opened, those of a window not yet closed at another Scheduler, and the probe that failed.
    assert sum(counts) <= before + 8 + 1
    assert await state_of(client, AgentState.OK)


async def test_a_probe_that_ran_out_of_time_sends_none_after_it_whose_time_would_pass_in_the_queue(
    world: World,
) -> None:
    """An attempt has as long as the breaker stays open: what waits in the queue for that long finds out nothing."""
    down = [True]
    served = [Service(concurrency=4, breaker=OPENS) for _ in range(2)]

    async def act() -> None:
        await asyncio.sleep(0.2)
        if down[0]:
            await fault()()

    order = orders(served[0])
    for service in served:
        for number in range(20):
            service.plan(f"do {number}", *[act] * 20)
        await world.run(world.app([order], [service.agent], transport="store"), **AGENTS)
    client = await world.start([order], transport="store", supervisor_every="250ms")
    handles = await client.submit_many(order, [(str(number),) for number in range(20)])
    await until(lambda: state_of(client, AgentState.BREAKER_OPEN))
    await asyncio.sleep(12)
    down[0] = False
    back_at = now()
    await asyncio.gather(*[handle.result(timeout=200) for handle in handles])
    # The next probe, and what windows take to open.
    assert now() - back_at <= 10 + 5


async def test_after_an_outage_windows_open_step_by_step(world: World) -> None:
    service = Service(concurrency=64, breaker=CircuitBreaker(2, reset_after=10))
    order = orders(service)
    started = list[float]()

    async def act() -> None:
        started.append(now())
        await asyncio.sleep(5)

    service.plan("do x0", fault())
    service.plan("do x1", fault())
    client = await world.start([order], [service.agent], tasks_in_flight=200)
    for number in range(2):
        await client.submit(order, f"x{number}")
    await until(lambda: state_of(client, AgentState.BREAKER_OPEN))
    for number in range(100):
        service.plan(f"do {number}", act)
        await client.submit(order, str(number), complete_by="10m")
    await until(lambda: state_of(client, AgentState.OK), within=60)
    closed_at = now()
    await asyncio.sleep(4.5)
    soon = [at - closed_at for at in started]
    # Beside the one that found out.
    assert len([at for at in soon if at > -1]) == 64
    # No herd: in the first tenth of a second hardly any request, all of them within a second or two.
    assert sum(at < 0.1 for at in soon) <= 10
    assert max(soon) < 3


async def test_several_schedulers_together_ask_for_no_more_than_there_is_room_for(world: World) -> None:
    service = Service(concurrency=6)
    order = orders(service)
    for number in range(60):
        service.plan(f"do {number}", take(2))
    await world.run(world.app([order], [service.agent], transport="store", lease="3s"), scheduler=False)
    for _ in range(3):
        await world.run(world.app([order], transport="store", tasks_in_flight=20, lease="3s"), **ALONE)
    client = await world.client(world.app([order]))
    handles = await client.submit_many(order, [(str(number),) for number in range(60)])
    # What three that knew nothing of one another asked for at first is done; since their first reports they do.
    await asyncio.sleep(8)
    most = 0
    for _ in range(100):
        most = max(most, await requests(client))
        await asyncio.sleep(0.1)
    assert 5 <= most <= 6
    await asyncio.gather(*[handle.result(timeout=200) for handle in handles])


async def test_a_rate_is_that_of_all_processes_together(world: World) -> None:
    one, other = (Service(rate="10/s") for _ in range(2))
    order = orders(one)
    for service in (one, other):
        await world.run(world.app([order], [service.agent], transport="store"), **AGENTS)
    client = await world.start([order], transport="store")
    began = now()
    handles = await client.submit_many(order, [(str(number),) for number in range(100)])
    await asyncio.gather(*[handle.result(timeout=100) for handle in handles])
    # Ten a second, beside a bucket of ten and at most another: the first process soon learns of the second.
    assert 8.0 <= now() - began <= 14
    assert min(len(one.log), len(other.log)) >= 20


async def test_room_is_what_healthy_slots_are_there(world: World) -> None:
    service = Service(concurrency=2)
    order = orders(service)
    ended = asyncio.Event()

    async def never_stops() -> None:
        while not ended.is_set():
            try:
                await ended.wait()
            except asyncio.CancelledError:
                continue

    service.plan("do stuck", never_stops)
    client = await world.start([order], [service.agent], lease="3s")
    await client.submit(order, "stuck")
    await until(lambda: stuck(client), within=60)
    (found,) = await client.agents()
    assert (found.capacity, found.stuck) == (1, 1)
    ended.set()


async def test_an_agent_that_is_no_longer_served_is_shown_so(world: World, service: Service) -> None:
    order = orders(service)
    running = await world.run(world.app([order], [service.agent], transport="store"), **AGENTS)
    client = await world.client(world.app([order]))
    assert (await client.agents())[0].state is AgentState.OK
    await running.stop()
    (found,) = await client.agents()
    assert (found.state, found.instances, found.capacity) == (AgentState.NO_INSTANCE, 0, 0)


async def test_a_breaker_left_open_is_known_to_who_starts_again(world: World) -> None:
    """Only the probe passes after a restart too."""
    service = Service(breaker=CircuitBreaker(1, reset_after=30))
    order = orders(service)
    service.plan("do a", fault())
    running = await world.run(world.app([order], [service.agent]))
    client = await world.client(world.app([order]))
    handle = await client.submit(order, "a")
    await until(lambda: state_of(client, AgentState.BREAKER_OPEN))
    opened_at = now()
    await running.stop()
    await world.run(world.app([order], [service.agent]))
    await in_state(handle, TaskState.PROCESSED)
    assert now() - opened_at >= 29


async def asked(service: Service, call: str) -> bool:
    return bool(service.keys_of(call))


async def state_of(client: Client, state: AgentState) -> bool:
    return [agent.state for agent in await client.agents()] == [state]


async def stuck(client: Client) -> bool:
    return any(agent.stuck for agent in await client.agents())


async def requests(client: Client) -> int:
    """How many requests stand in the Agent's queue, taken or not."""
    async with client.transaction() as transaction:
        rows: list[tuple[Any, ...]] = await transaction.execute(
            "select count(*) from stepward_message where queue = 'agents.svc'"
        )
    return int(rows[0][0])
