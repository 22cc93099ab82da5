"""Irreversible steps: a task that may not be undone past one can still go forward."""

from __future__ import annotations

import asyncio

import pytest

from stepward import Supervision, TaskCancelled, Unrecoverable, wait_for, workflow
from stepward.model.states import TaskState
from stepward.workflow.definition import Workflow
from tests.scheduler.world import Service, World, details, in_state, refuse, states, take


def sealed(service: Service) -> Workflow[[], str]:
    @workflow(supervision=Supervision(then="undo"))
    async def order() -> str:
        await service.do("a")
        await service.seal("b")
        return await service.do("c")

    return order


async def test_where_undo_is_barred_resubmission_repeats_what_failed(world: World, service: Service) -> None:
    order = sealed(service)
    service.plan("do c", refuse("no more"))
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await in_state(handle, TaskState.ERROR)
    (alert,) = await client.alerts()
    assert (alert.kind, alert.step, details(alert)["undone"]) == ("undo_failed", "svc.seal/1", [])
    await handle.resubmit()
    assert await handle.result(timeout=30) == "c done"
    assert service.log == ["do a", "seal b", "do c"]


async def test_a_cancel_past_an_irreversible_step_is_taken_back_by_resubmission(world: World, service: Service) -> None:
    @workflow
    async def order() -> list[object]:
        await service.seal("a")
        return list(await asyncio.gather(wait_for("go"), service.do("b")))

    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await in_state(handle, TaskState.WAITING)
    await handle.cancel()
    await in_state(handle, TaskState.ERROR)
    await handle.resubmit()
    await handle.signal("go", 1)
    assert await handle.result(timeout=30) == [1, "b done"]
    assert service.log == ["seal a", "do b"]


async def test_undo_waits_for_an_irreversible_step_that_may_yet_be_refused(world: World, service: Service) -> None:
    async def refuse_later() -> None:
        await asyncio.sleep(3)
        raise Unrecoverable("no seal")

    order = sealed(service)
    service.plan("seal b", refuse_later)
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await asyncio.sleep(1)
    await handle.cancel()
    with pytest.raises(TaskCancelled):
        await handle.result(timeout=30)
    assert service.log == ["do a", "undo a"]


async def test_steps_that_had_no_room_start_once_an_irreversible_one_sent_the_task_forward(world: World) -> None:
    service = Service(concurrency=1)

    @workflow
    async def order() -> list[str]:
        return list(await asyncio.gather(service.seal("a"), service.do("b")))

    service.plan("seal a", take(3))
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await asyncio.sleep(1)
    await handle.cancel()
    await in_state(handle, TaskState.ERROR)
    assert await states(handle) == {"svc.seal/1": "completed", "svc.do/1": "not_started"}
    await handle.resubmit()
    assert await handle.result(timeout=30) == ["a done", "b done"]
