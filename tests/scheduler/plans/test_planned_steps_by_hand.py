"""Planned steps that people do, and tasks whose code takes the place of a plan."""

from __future__ import annotations

import pytest

from stepward import (
    Supervision,
    workflow,
)
from stepward.client import ClientSession, client_on, session_of
from stepward.client.progress import TaskProgress
from stepward.clock import Environment
from stepward.model.states import TaskState
from tests.scheduler.plans.planned_orders import PLANNED, orders
from tests.scheduler.world import (
    Service,
    VirtualClock,
    World,
    details,
    in_state,
    refuse,
    states,
)


async def test_a_planned_step_that_was_done_by_hand_is_not_done_again(world: World, service: Service) -> None:
    order = orders(service)
    service.plan("do a", refuse("not today"))
    client = await world.start([order], [service.agent], replay_check=True)
    handle = await client.submit(order, "a")
    await in_state(handle, TaskState.ERROR)
    assert await states(handle) == PLANNED | {"svc.do/1": "failed"}
    await handle.mark_done("svc.do/2", "b by hand")
    assert await in_state(handle, TaskState.ERROR, TaskState.PROCESSED) is TaskState.ERROR
    await handle.resubmit()
    assert await handle.result(timeout=5) == "b by hand"
    assert service.log == ["do a", "note noted"]
    assert not world.told("task.not_deterministic")
    assert str((await handle.status()).progress) == "3 of 3"


async def test_a_planned_step_cannot_be_repeated(world: World, service: Service) -> None:
    order = orders(service)
    service.plan("do a", refuse("not today"))
    client = await world.start([order], [service.agent])
    handle = await client.submit(order, "a")
    await in_state(handle, TaskState.ERROR)
    with pytest.raises(ValueError, match=r"step svc\.note/1 .* expected it failed, found it not_started"):
        await handle.resubmit("svc.note/1")


async def test_code_of_the_same_name_has_no_plan(world: World, service: Service) -> None:
    @workflow(name="order")
    async def order(what: str) -> str:
        return await service.do(what)

    client = await world.start([order], [service.agent])
    handle = await client.submit(order, "a")
    await handle.result(timeout=5)
    assert await states(handle) == {"svc.do/1": "completed"}
    assert str((await handle.status()).progress) == "1"


async def test_what_was_undone_is_no_progress(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(then="undo"))
    async def order() -> None:
        await service.do("a")
        await service.do("b")

    service.plan("do b", refuse())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await in_state(handle, TaskState.UNDONE)
    assert (await handle.status()).progress == TaskProgress(0, None)


async def test_code_that_takes_the_place_of_a_pipeline_is_planned_no_more(world: World, service: Service) -> None:
    order = orders(service)

    @workflow(name="order")
    async def code(what: str) -> str:
        return await service.do(what)

    async with client_on(ClientSession(world.store, app="shop", environment=Environment(VirtualClock()))) as bare:
        for known, planned in ((order, 3), (code, 0)):
            async with world.app([known], [service.agent]).running(scheduler=False):
                pass
            await session_of(bare).store.host.register_workflows(world.app([known]).registry.records())
            assert len(await (await bare.submit("order", "a")).steps()) == planned


async def test_what_was_done_by_hand_before_it_started_is_left_to_a_person_when_the_task_is_undone(
    world: World, service: Service
) -> None:
    order = orders(service)
    service.plan("do a", refuse("not today"))
    client = await world.start([order], [service.agent])
    handle = await client.submit(order, "a")
    await in_state(handle, TaskState.ERROR)
    await handle.mark_done("svc.do/2", "b by hand")
    await handle.undo()
    await in_state(handle, TaskState.UNDONE)
    (alert,) = [alert for alert in await client.alerts() if alert.kind == "in_doubt"]
    assert details(alert)["in_doubt"] == ["svc.do/2"]
