"""Several Schedulers, leases, fencing and drain, on one file and in one process."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

from stepward import Client, Supervision, step, workflow
from stepward.client import session_of
from stepward.errors import StoreUnavailable
from stepward.model.records import Role
from stepward.model.states import TaskState
from stepward.running import Running
from stepward.workflow.definition import Workflow
from tests.scheduler.world import Service, World, fault, hang, in_state, take, until, until_set


def orders(service: Service) -> Workflow[[str], str]:
    @workflow
    async def order(what: str) -> str:
        await service.do(f"{what}1")
        return await service.do(f"{what}2")

    return order


async def declare_dead(client: Client, role: Role) -> None:
    """What another host's Supervisor would do to an instance that fell silent."""
    async with client.transaction() as transaction:
        await transaction.execute(
            "update stepward_instance set alive = 0, dead_at = 1.0 where role = ? and alive = 1", (role,)
        )


async def test_two_schedulers_share_the_work(world: World) -> None:
    one, other = Service(), Service()
    order = orders(one)
    for service in (one, other):
        for number in range(40):
            service.plan(f"do {number}:1", take(1))
    settings = {"tasks_in_flight": 10}
    await world.run(world.app([order], [one.agent], **settings))
    second = world.app([order], [other.agent], **settings)
    await world.run(second, supervisor=False)
    client = await world.client(second)
    handles = await client.submit_many(order, [(f"{number}:",) for number in range(40)])
    await asyncio.gather(*[handle.result(timeout=60) for handle in handles])
    # The other's client sees the end of tasks that the first one moved, and every step was done once.
    assert len(one.log) >= 20
    assert len(other.log) >= 20
    assert len(set(one.log) | set(other.log)) == len(one.log) + len(other.log) == 80


async def test_a_fenced_scheduler_starts_over_and_no_task_is_lost(world: World, service: Service) -> None:
    order = orders(service)
    gate = asyncio.Event()
    service.plan("do a1", until_set(gate))
    app = world.app([order], [service.agent])
    running = await world.run(app)
    client = await world.client(app)
    handle = await client.submit(order, "a")
    await until(lambda: _asked(service, "do a1"))
    before = _scheduler(running)
    await declare_dead(client, Role.SCHEDULER)
    gate.set()
    assert await handle.result(timeout=60) == "a2 done"
    assert _scheduler(running) != before
    assert world.told("scheduler.fenced")[0]["instance"] == before
    # The task was taken over; the work under way was not done again, for its answer was kept.
    status = await handle.status()
    assert (status.state, status.failure_count) == (TaskState.PROCESSED, 1)
    assert service.log.count("do a2") == 1
    assert len(set(service.keys_of("do a1"))) == 1
    fenced = await client.submit(order, "b")
    assert await fenced.result(timeout=60) == "b2 done"


async def test_a_local_step_that_will_not_be_cancelled_holds_up_no_other_scheduler(world: World) -> None:
    entered, released = asyncio.Event(), asyncio.Event()

    @step(complete_by="1h")
    async def cling() -> None:
        entered.set()
        while not released.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await released.wait()

    @step()
    async def think() -> str:
        return "thought"

    @workflow
    async def clinging() -> None:
        await cling()

    @workflow
    async def thinking() -> str:
        return await think()

    client = await world.start([clinging, thinking])
    await client.submit(clinging)
    await entered.wait()
    await declare_dead(client, Role.SCHEDULER)
    try:
        async with asyncio.timeout(120):
            assert await (await client.submit(thinking)).result(timeout=60) == "thought"
            await world.close()
    finally:
        released.set()


async def test_a_fenced_scheduler_writes_nothing_more(world: World, service: Service) -> None:
    order = orders(service)
    gate = asyncio.Event()
    service.plan("do a1", until_set(gate))
    app = world.app([order], [service.agent])
    await world.run(app, supervisor=False)
    client = await world.client(app)
    handle = await client.submit(order, "a")
    await until(lambda: _asked(service, "do a1"))
    await declare_dead(client, Role.SCHEDULER)
    (before,) = await handle.steps()
    gate.set()
    await asyncio.sleep(5)
    # There is no Supervisor: the task stays with the dead instance, its step as it was.
    assert await handle.steps() == [before]
    assert (await handle.status()).state is TaskState.PROCESSING


async def test_an_agent_declared_dead_registers_again_and_goes_on(world: World, service: Service) -> None:
    order = orders(service)
    app = world.app([order], [service.agent])
    await world.run(app)
    client = await world.client(app)
    await declare_dead(client, Role.AGENT)
    await asyncio.sleep(10)
    alive = [each for each in await client.instances() if each.alive and each.role is Role.AGENT]
    assert len(alive) == 1
    assert await (await client.submit(order, "a")).result(timeout=30) == "a2 done"


async def test_registering_again_is_tried_until_the_store_is_back(
    world: World, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = orders(service)
    app = world.app([order], [service.agent])
    running = await world.run(app)
    client = await world.client(app)
    register, refusals = running.store.host.register, [1, 2]

    async def refusing(*given: Any) -> None:
        if refusals:
            refusals.pop()
            raise StoreUnavailable("the disk is away")
        await register(*given)

    monkeypatch.setattr(running.store.host, "register", refusing)
    await declare_dead(client, Role.AGENT)
    assert await (await client.submit(order, "a")).result(timeout=120) == "a2 done"


async def test_a_supervisor_declared_dead_registers_again_and_leads(world: World, service: Service) -> None:
    order = orders(service)
    app = world.app([order], [service.agent])
    await world.run(app)
    client = await world.client(app)
    await asyncio.sleep(3)
    await declare_dead(client, Role.SUPERVISOR)
    service.plan("do a1", hang())
    assert await (await client.submit(order, "a")).result(timeout=120) == "a2 done"


async def test_leases_are_renewed_while_nothing_happens(world: World) -> None:
    client = await world.start([], [Service().agent], lease="3s")
    first = {each.id for each in await client.instances() if each.alive}
    await asyncio.sleep(30)
    now = session_of(client).store.now()
    alive = [each for each in await client.instances() if each.alive]
    assert {each.id for each in alive} == first
    assert {each.role for each in alive} == {Role.SCHEDULER, Role.AGENT, Role.SUPERVISOR}
    assert all(each.expires_at > now for each in alive)


async def test_leases_are_renewed_under_load(world: World) -> None:
    @step()
    async def tick(number: int) -> int:
        await asyncio.sleep(0.05)
        return number

    @workflow
    async def busy() -> None:
        for number in range(400):
            await tick(number)

    client = await world.start([busy], lease="3s")
    first = {each.id for each in await client.instances() if each.alive}
    await (await client.submit(busy)).result(timeout=100)
    assert {each.id for each in await client.instances() if each.alive} == first


async def test_drain_lets_what_runs_end_and_hands_over_the_rest(world: World, service: Service) -> None:
    """Row 9, in one process: nothing is lost, and nothing counts as a failure."""
    order = orders(service)
    service.plan("do a1", take(2))
    app = world.app([order], [service.agent], drain="5s")
    running = await world.run(app)
    client = await world.client(world.app([order]))
    handle = await client.submit(order, "a")
    await until(lambda: _asked(service, "do a1"))
    await running.stop()
    assert service.log == ["do a1"]
    status = await handle.status()
    assert (status.locked_by, status.failure_count) == (None, 0)
    assert (await handle.steps())[0].state == "completed"
    assert [each for each in await client.instances() if each.alive] == []
    await world.run(world.app([order], [service.agent]))
    assert await handle.result(timeout=10) == "a2 done"
    assert service.log == ["do a1", "do a2"]


async def test_drain_past_its_grace_leaves_the_step_to_the_next(world: World, service: Service) -> None:
    order = orders(service)
    service.plan("do a1", take(30))
    app = world.app([order], [service.agent], drain="1s")
    running = await world.run(app)
    client = await world.client(world.app([order]))
    handle = await client.submit(order, "a")
    await until(lambda: _asked(service, "do a1"))
    # By now the request is watched. It is lost with its process, so that no Scheduler waits for a reply to it.
    await asyncio.sleep(2)
    await running.stop()
    assert service.log == []
    await world.run(world.app([order], [service.agent]))
    assert await handle.result(timeout=2) == "a2 done"
    assert service.log == ["do a1", "do a2"]
    assert [step.attempt for step in await handle.steps()] == [1, 1]
    assert (await handle.status()).failure_count == 0


async def test_a_decision_on_another_step_does_not_send_a_request_again(world: World) -> None:
    """The task is read again then; its requests are not lost, and may wait for a slot that is long in coming."""
    slow, shaky = Service("slow", concurrency=1), Service("shaky")

    @workflow(supervision=Supervision(threshold=9))
    async def order() -> None:
        await asyncio.gather(slow.note("a"), shaky.note("b"))

    slow.plan("note a", take(8))
    shaky.plan("note b", *[fault()] * 4)
    client = await world.start([order], [slow.agent, shaky.agent])
    await (await client.submit(order)).result(timeout=60)
    await asyncio.sleep(10)
    assert slow.log == ["note a"]
    assert len(shaky.keys_of("note b")) == 5


async def test_a_draining_scheduler_starts_no_step_that_its_agents_will_not_take(
    world: World, service: Service
) -> None:
    """Row 9: what the workflow asks for meanwhile waits in the store, and costs the next owner nothing."""
    order = orders(service)
    service.plan("do a1", take(1))
    service.plan("do b1", take(4))
    app = world.app([order], [service.agent], drain="20s")
    running = await world.run(app)
    client = await world.client(world.app([order]))
    # Submitted through the application's own client: both are held by the Scheduler that drains.
    own = app.client()
    first, second = await own.submit(order, "a", id="a"), await own.submit(order, "b", id="b")
    await until(lambda: _asked(service, "do b1"))
    await running.stop()
    assert service.log == ["do a1", "do b1"]
    for id in ("a", "b"):
        assert [(step.state, step.attempt) for step in await client.task(id).steps()][1:] == [("not_started", 0)]
    await world.run(world.app([order], [service.agent]))
    for handle in (client.task(first.id), client.task(second.id)):
        await handle.result(timeout=5)
        assert (await handle.status()).failure_count == 0


async def test_answers_to_a_scheduler_that_is_gone_reach_the_next(world: World, service: Service) -> None:
    order = orders(service)
    service.plan("do a1", take(6))
    await world.run(world.app([order], [service.agent], transport="store"), scheduler=False)
    alone = {"agents": False, "supervisor": False}
    first = await world.run(world.app([order], transport="store", drain="0s"), **alone)
    client = await world.client(world.app([order]))
    handle = await client.submit(order, "a")
    await until(lambda: _asked(service, "do a1"))
    # By now the request is watched: the next owner leaves it to its Agent, which answers the one who asked.
    await asyncio.sleep(2)
    await first.stop()
    await world.run(world.app([order], transport="store"), **alone)
    assert await handle.result(timeout=10) == "a2 done"
    assert [step.attempt for step in await handle.steps()] == [1, 1]
    assert len(service.keys_of("do a1")) == 1


async def test_a_task_that_is_not_served_raises_an_alert(world: World, service: Service) -> None:
    order = orders(service)
    await world.run(world.app([order], [service.agent], drain="0s"), scheduler=False)
    client = await world.client(world.app([order]))
    handle = await client.submit(order, "a")
    await until(client.alerts)
    (alert,) = await client.alerts()
    assert alert.kind == "unserved"
    await world.run(world.app([order], [service.agent]), supervisor=False)
    await in_state(handle, TaskState.PROCESSED)


async def test_steps_of_an_agent_that_is_not_offered_raise_an_alert(world: World, service: Service) -> None:
    order = orders(service)
    await world.run(world.app([order], [service.agent], transport="store", drain="0s"), agents=False)
    client = await world.client(world.app([order]))
    handle = await client.submit(order, "a")
    await until(client.alerts)
    (alert,) = await client.alerts()
    assert (alert.kind, alert.task_id) == ("unserved", handle.id)
    assert "Agent svc, which no live instance offers" in alert.message
    await world.run(world.app([order], [service.agent], transport="store"), scheduler=False, supervisor=False)
    await in_state(handle, TaskState.PROCESSED)
    assert (await client.alerts(), len(await client.alerts(open_only=False))) == ([], 1)


def _scheduler(running: Running) -> str:
    scheduler = running.host.scheduler
    assert scheduler is not None
    return scheduler.instance


async def _asked(service: Service, call: str) -> bool:
    return bool(service.keys_of(call))
