"""What a process finds out about its Agents reaches the store, and what it reads from there never hides it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from stepward.agent.protection.circuit_breaker import BreakerState
from stepward.client.agent_status import AgentState
from stepward.errors import StoreUnavailable
from stepward.model.states import TaskState
from stepward.policies import CircuitBreaker
from stepward.running import Running
from stepward.scheduler.admission.windows import Window
from tests.scheduler.admission.test_agent_capacity import orders, state_of
from tests.scheduler.world import Service, World, fault, in_state, take, until


def failing(**options: Any) -> Service:
    """A service whose first call fails, which opens its breaker."""
    service = Service(breaker=CircuitBreaker(1, reset_after=10), **options)
    service.plan("do a", fault())
    return service


def breaker(running: Running) -> BreakerState:
    return running.host._agents.runners["svc"].breaker


def window(running: Running) -> Window:
    scheduler = running.host.scheduler
    assert scheduler is not None
    return scheduler._windows._windows["svc"]


async def test_what_was_read_before_says_nothing_of_what_was_found_out_since(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = failing()
    order = orders(service)
    running = await world.run(world.app([order], [service.agent]))
    client = await world.client(world.app([order]))
    read, reading, answered = running.store.operators.standings, asyncio.Event(), asyncio.Event()

    async def slowly() -> Any:
        found = await read()
        reading.set()
        await answered.wait()
        return found

    monkeypatch.setattr(running.store.host, "standings", slowly)
    with monkeypatch.context() as outage:
        # So that nothing else is read before the test looks.
        outage.setattr(running.store.host, "open_breaker", unavailable)
        running.hints.hint()
        await reading.wait()
        handle = await client.submit(order, "a")
        await until(lambda: is_open(running))
        assert window(running).capacity == 0
        monkeypatch.setattr(running.store.host, "standings", read)
        answered.set()
        await asyncio.sleep(0.05)
        assert (breaker(running), window(running).capacity) == (BreakerState.OPEN, 0)
    await in_state(handle, TaskState.PROCESSED)
    assert len(service.keys) == 2


async def test_what_was_read_before_does_not_end_a_probe(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    service = failing()
    service.plan("do a", take(2))
    order = orders(service)
    running = await world.run(world.app([order], [service.agent]))
    client = await world.client(world.app([order]))
    read, grant = running.store.operators.standings, running.store.host.grant_probe
    reading, answered = asyncio.Event(), asyncio.Event()

    async def slowly() -> Any:
        found = await read()
        reading.set()
        await answered.wait()
        return found

    async def meanwhile(*given: Any) -> bool:
        monkeypatch.setattr(running.store.host, "standings", slowly)
        running.hints.hint()
        await reading.wait()
        monkeypatch.setattr(running.store.host, "standings", read)
        return await grant(*given)

    monkeypatch.setattr(running.store.host, "grant_probe", meanwhile)
    handle = await client.submit(order, "a")
    await until(lambda: called_twice(service))
    answered.set()
    # Its end is processed, and closes the breaker for all: there is no need to probe again.
    await in_state(handle, TaskState.PROCESSED, within=5)
    assert breaker(running) is BreakerState.CLOSED
    await until(lambda: state_of(client, AgentState.OK), within=2)


async def test_while_the_store_is_away_no_instance_probes(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    service = failing()
    order = orders(service)
    running = await world.run(world.app([order], [service.agent]))
    client = await world.client(world.app([order]))
    grant, refused = running.store.host.grant_probe, list[float]()

    async def away(*given: Any) -> bool:
        refused.append(asyncio.get_running_loop().time())
        if len(refused) < 4:
            raise StoreUnavailable("the disk is away")
        return await grant(*given)

    monkeypatch.setattr(running.store.host, "grant_probe", away)
    handle = await client.submit(order, "a")
    await in_state(handle, TaskState.PROCESSED)
    # Asked for again each second, and called once it was granted.
    assert len(refused) == 4
    assert len(service.keys) == 2
    assert breaker(running) is BreakerState.CLOSED


async def test_a_breaker_state_that_could_not_be_stored_is_stored_when_the_store_is_back(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = failing()
    order = orders(service)
    running = await world.run(world.app([order], [service.agent]))
    client = await world.client(world.app([order]))
    tell, refusals = running.store.host.open_breaker, [1, 2]

    async def refusing(*given: Any) -> bool:
        if refusals:
            refusals.pop()
            raise StoreUnavailable("the disk is away")
        return await tell(*given)

    monkeypatch.setattr(running.store.host, "open_breaker", refusing)
    await client.submit(order, "a")
    await until(lambda: is_open(running))
    assert (window(running).capacity, await state_of(client, AgentState.OK)) == (0, True)
    await until(lambda: state_of(client, AgentState.BREAKER_OPEN), within=5)


async def test_a_breaker_is_reported_with_the_health_of_the_instance_at_once(world: World) -> None:
    service = failing()
    order = orders(service)
    client = await world.start([order], [service.agent], lease="60s")
    await client.submit(order, "a")
    began = asyncio.get_running_loop().time()
    await until(lambda: told_open(client), within=60)
    assert asyncio.get_running_loop().time() - began < 2


async def unavailable(*given: Any) -> bool:
    raise StoreUnavailable("the disk is away")


async def called_twice(service: Service) -> bool:
    return len(service.keys) == 2


async def is_open(running: Running) -> bool:
    return breaker(running) is BreakerState.OPEN


async def told_open(client: Any) -> bool:
    return any(health.breaker == "open" for each in await client.instances() for health in each.health)
