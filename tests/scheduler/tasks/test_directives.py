"""Cancel, undo, suspend and resume, at each moment of a task's life."""

from __future__ import annotations

import asyncio

import pytest

from stepward import TaskCancelled, TaskUndone, wait_for, workflow
from stepward.errors import IllegalTransition
from stepward.model.states import TaskState
from stepward.workflow.definition import Workflow
from tests.scheduler.world import Service, World, hang, in_state, states, take, until


def ordered(service: Service) -> Workflow[[], str]:
    @workflow
    async def order() -> str:
        await service.do("a")
        await service.do("b")
        return await service.do("c")

    return order


async def test_cancel_before_anything_started_leaves_nothing(world: World, service: Service) -> None:
    order = ordered(service)
    app = world.app([order], [service.agent])
    client = await world.client(app)
    await world.run(app, scheduler=False)
    handle = await client.submit(order)
    assert await handle.cancel() is TaskState.CANCELLED
    await world.run(world.app([order], [service.agent]))
    with pytest.raises(TaskCancelled):
        await handle.result(timeout=5)
    await asyncio.sleep(5)
    assert (service.log, await handle.steps()) == ([], [])


async def test_cancel_while_a_step_runs_undoes_what_was_done(world: World, service: Service) -> None:
    order = ordered(service)
    service.plan("do b", hang())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await until(lambda: _logged(service, "do a"))
    await handle.cancel()
    with pytest.raises(TaskCancelled):
        await handle.result(timeout=60)
    # b was running with an unknown outcome, so it is undone, and only after its complete-by.
    assert service.log == ["do a", "undo b", "undo a"]
    status = await handle.status()
    assert status.finished_at is not None
    assert status.started_at is not None
    assert status.finished_at - status.started_at >= 10


async def test_an_answer_during_the_undo_is_recorded_and_undone(world: World, service: Service) -> None:
    order = ordered(service)
    service.plan("do b", take(4))
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await until(lambda: _logged(service, "do a"))
    await handle.cancel()
    with pytest.raises(TaskCancelled):
        await handle.result(timeout=9)
    assert service.log == ["do a", "do b", "undo b", "undo a"]
    assert service.given == ["b done", "a done"]


async def test_cancel_of_a_waiting_task(world: World, service: Service) -> None:
    @workflow
    async def order() -> None:
        await service.do("a")
        await wait_for("go")

    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await in_state(handle, TaskState.WAITING)
    await handle.cancel()
    with pytest.raises(TaskCancelled):
        await handle.result(timeout=5)
    assert service.log == ["do a", "undo a"]


async def test_cancel_while_undoing_changes_nothing(world: World, service: Service) -> None:
    order = ordered(service)
    service.plan("undo c", take(2))
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await handle.result(timeout=5)
    await handle.undo()
    await in_state(handle, TaskState.UNDOING)
    assert await handle.cancel() is TaskState.UNDOING
    assert await handle.undo() is TaskState.UNDOING
    with pytest.raises(TaskUndone):
        await handle.result(timeout=30)
    assert service.log[3:] == ["undo c", "undo b", "undo a"]


async def test_undo_of_a_processed_task(world: World, service: Service) -> None:
    order = ordered(service)
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    assert await handle.result(timeout=5) == "c done"
    await handle.undo()
    with pytest.raises(TaskUndone):
        await handle.result(timeout=20)
    assert service.log[3:] == ["undo c", "undo b", "undo a"]
    assert service.given == ["c done", "b done", "a done"]
    assert set((await states(handle)).values()) == {"undone", "completed"}
    acts = [audit.act for audit in await client.audits(handle.id)]
    assert "undo" in acts
    with pytest.raises(IllegalTransition):
        await handle.resubmit()


async def test_cancel_of_a_processed_task_is_refused(world: World, service: Service) -> None:
    order = ordered(service)
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await handle.result(timeout=5)
    with pytest.raises(IllegalTransition, match="possible now: undo"):
        await handle.cancel()
    assert service.log == ["do a", "do b", "do c"]


async def test_a_suspended_task_starts_nothing_until_it_is_resumed(world: World, service: Service) -> None:
    order = ordered(service)
    reached, go = asyncio.Event(), asyncio.Event()

    async def wait() -> None:
        reached.set()
        await go.wait()

    service.plan("do b", wait)
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await reached.wait()
    await handle.suspend()
    await in_state(handle, TaskState.SUSPENDED)
    go.set()
    await asyncio.sleep(20)
    assert service.log == ["do a", "do b"]
    assert (await handle.status()).state is TaskState.SUSPENDED
    assert (await states(handle))["svc.do/2"] == "completed"
    await handle.resume()
    assert await handle.result(timeout=5) == "c done"
    assert service.log == ["do a", "do b", "do c"]


async def test_a_task_suspended_before_it_was_claimed(world: World, service: Service) -> None:
    order = ordered(service)
    app = world.app([order], [service.agent])
    client = await world.client(app)
    handle = await client.submit(order)
    assert await handle.suspend() is TaskState.SUSPENDED
    await world.run(app)
    await asyncio.sleep(5)
    assert service.log == []
    await handle.resume()
    assert await handle.result(timeout=10) == "c done"


async def test_a_suspended_task_can_be_cancelled(world: World, service: Service) -> None:
    @workflow
    async def order() -> None:
        await service.do("a")
        await wait_for("go")

    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await in_state(handle, TaskState.WAITING)
    await handle.suspend()
    await in_state(handle, TaskState.SUSPENDED)
    await handle.cancel()
    with pytest.raises(TaskCancelled):
        await handle.result(timeout=10)
    assert service.log == ["do a", "undo a"]


async def test_a_signal_to_a_suspended_task_waits_for_its_resumption(world: World) -> None:
    @workflow
    async def order() -> object:
        return await wait_for("go")

    client = await world.start([order])
    handle = await client.submit(order)
    await in_state(handle, TaskState.WAITING)
    await handle.suspend()
    await in_state(handle, TaskState.SUSPENDED)
    await handle.signal("go", 5)
    await asyncio.sleep(5)
    assert (await handle.status()).state is TaskState.SUSPENDED
    await handle.resume()
    assert await handle.result(timeout=5) == 5


async def test_a_task_past_its_own_complete_by_is_undone_where_the_policy_says_so(
    world: World, service: Service
) -> None:
    from stepward import Supervision

    @workflow(complete_by="20s", supervision=Supervision(then="undo"))
    async def order() -> None:
        await service.do("a")
        await wait_for("never")

    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    with pytest.raises(TaskUndone, match="was not done by its complete-by"):
        await handle.result(timeout=60)
    status = await handle.status()
    assert status.finished_at is not None
    assert 20 <= status.finished_at - status.created_at <= 24
    assert service.log == ["do a", "undo a"]


async def test_a_task_given_its_own_complete_by_ends_in_error_with_an_alert(world: World, service: Service) -> None:
    @workflow
    async def order() -> None:
        await wait_for("never")

    client = await world.start([order])
    handle = await client.submit(order, complete_by="15s")
    await in_state(handle, TaskState.ERROR)
    status = await handle.status()
    assert status.finished_at is not None
    assert 15 <= status.finished_at - status.created_at <= 19
    assert [alert.task_id for alert in await client.alerts()] == [handle.id]


async def _logged(service: Service, call: str) -> bool:
    return call in service.log


async def test_a_delay_outlasts_a_suspension(world: World, service: Service) -> None:
    @workflow
    async def order() -> str:
        return await service.do("a")

    client = await world.start([order], [service.agent])
    handle = await client.submit(order, delay="1m")
    await handle.suspend()
    await handle.resume()
    await asyncio.sleep(50)
    assert service.log == []
    assert await handle.result(timeout=15) == "a done"
