"""Child tasks: their results and failures, and how cancel and undo of the parent reach them."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

from stepward import (
    StepFailed,
    Supervision,
    TaskCancelled,
    TaskFailed,
    TaskUndone,
    Unrecoverable,
    wait_for,
    workflow,
)
from stepward.model.states import TaskState
from stepward.workflow.definition import Workflow
from tests.scheduler.world import Service, World, fault, in_state, refuse, until


def family(service: Service, **policy: Any) -> tuple[Workflow[Any, Any], Workflow[Any, Any]]:
    """A parent that does ``before``, has a child do ``child``, and does ``after``."""

    @workflow(supervision=Supervision(**policy))
    async def child(what: str) -> str:
        return await service.do(what)

    @workflow(supervision=Supervision(**policy))
    async def parent() -> str:
        await service.do("before")
        result: str = await child("child")
        await service.do("after")
        return result

    return parent, child


async def test_a_child_gives_its_result(world: World, service: Service) -> None:
    parent, child = family(service)
    client = await world.start([parent, child], [service.agent])
    handle = await client.submit(parent, id="p")
    assert await handle.result(timeout=5) == "child done"
    assert service.log == ["do before", "do child", "do after"]
    inner = await client.task("p/child/1").status()
    assert (inner.state, inner.workflow, inner.priority) == (TaskState.PROCESSED, "child", 5)


async def test_a_child_that_is_undone_fails_its_step_in_the_parent(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(then="undo"))
    async def child() -> None:
        await service.do("inner")
        await service.do("bad")

    @workflow
    async def parent() -> str:
        try:
            await child()
        except StepFailed as error:
            return f"{error.step}: {error}"
        return "never"

    service.plan("do bad", refuse("no more"))
    client = await world.start([parent, child], [service.agent])
    handle = await client.submit(parent)
    assert await handle.result(timeout=5) == "child/1: no more"
    assert service.log == ["do inner", "undo inner"]


async def test_undo_of_the_parent_undoes_its_processed_child_in_turn(world: World, service: Service) -> None:
    parent, child = family(service, then="undo")
    service.plan("do after", refuse())
    client = await world.start([parent, child], [service.agent])
    handle = await client.submit(parent, id="p")
    with pytest.raises(TaskUndone):
        await handle.result(timeout=20)
    assert service.log == ["do before", "do child", "undo child", "undo before"]
    assert (await client.task("p/child/1").status()).state is TaskState.UNDONE


async def test_a_child_in_error_that_its_parent_gave_up_is_undone_with_it(world: World, service: Service) -> None:
    @workflow
    async def child() -> None:
        await service.do("inner")
        await service.do("bad")

    @workflow(supervision=Supervision(then="undo"))
    async def parent() -> None:
        await service.do("before")
        await child()

    service.plan("do bad", refuse())
    client = await world.start([parent, child], [service.agent])
    handle = await client.submit(parent, id="p")
    with pytest.raises(TaskUndone):
        await handle.result(timeout=20)
    assert service.log == ["do before", "do inner", "undo inner", "undo before"]


async def test_cancel_reaches_children_that_are_under_way(world: World, service: Service) -> None:
    @workflow
    async def child(what: str) -> None:
        await service.do(what)
        await wait_for("never")

    @workflow
    async def parent() -> None:
        await service.do("before")
        await asyncio.gather(child("one"), child("two"))

    client = await world.start([parent, child], [service.agent])
    handle = await client.submit(parent, id="p")
    for key in ("child/1", "child/2"):
        await _there(world, client, f"p/{key}")
        await in_state(client.task(f"p/{key}"), TaskState.WAITING)
    await handle.cancel()
    with pytest.raises(TaskCancelled):
        await handle.result(timeout=30)
    assert service.log[-1] == "undo before"
    assert sorted(service.log[3:5]) == ["undo one", "undo two"]
    for key in ("child/1", "child/2"):
        assert (await client.task(f"p/{key}").status()).state is TaskState.CANCELLED


async def test_a_child_that_cannot_be_undone_stops_the_undo_of_its_parent(world: World, service: Service) -> None:
    parent, child = family(service, threshold=0, then="undo")
    service.plan("do after", refuse())
    service.plan("undo child", refuse("gone"))
    client = await world.start([parent, child], [service.agent])
    handle = await client.submit(parent, id="p")
    with pytest.raises(TaskFailed, match="child/1 could not be undone"):
        await handle.result(timeout=30)
    assert service.log == ["do before", "do child"]
    kinds = {(alert.kind, alert.task_id) for alert in await client.alerts()}
    assert kinds == {("undo_failed", "p"), ("undo_failed", "p/child/1")}


async def test_after_the_child_is_mended_resubmission_of_both_ends_the_undo(world: World, service: Service) -> None:
    parent, child = family(service, threshold=0, then="undo")
    service.plan("do after", refuse())
    service.plan("undo child", refuse("gone"))
    client = await world.start([parent, child], [service.agent])
    handle = await client.submit(parent, id="p")
    with pytest.raises(TaskFailed):
        await handle.result(timeout=30)
    inner = client.task("p/child/1")
    await inner.resubmit()
    await in_state(inner, TaskState.UNDONE)
    await handle.resubmit()
    await in_state(handle, TaskState.UNDONE, within=60)
    assert service.log == ["do before", "do child", "undo child", "undo before"]


async def test_children_keep_their_priority_and_labels(world: World, service: Service) -> None:
    parent, child = family(service)
    client = await world.start([parent, child], [service.agent])
    handle = await client.submit(parent, id="p", priority=9, labels={"customer": "c1"}, fairness_key="c1")
    await handle.result(timeout=5)
    inner = await client.task("p/child/1").status()
    assert (inner.priority, inner.labels, inner.fairness_key) == (9, {"customer": "c1"}, "c1")


async def test_a_child_whose_step_expires_keeps_its_own_policy(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(threshold=5))
    async def child() -> str:
        return await service.do("inner")

    @workflow(supervision=Supervision(threshold=0, then="undo"))
    async def parent() -> str:
        return await child()

    service.plan("do inner", fault(), fault())
    client = await world.start([parent, child], [service.agent])
    handle = await client.submit(parent)
    assert await handle.result(timeout=60) == "inner done"


async def test_parent_and_child_tell_one_another_at_once(world: World, service: Service) -> None:
    @workflow
    async def child(what: str) -> str:
        return await service.do(what)

    @workflow
    async def parent() -> list[str]:
        return [await child(what) for what in "abcde"]

    client = await world.start([parent, child], [service.agent])
    handle = await client.submit(parent)
    # Not one poll (a second) passes for any of them.
    assert len(await handle.result(timeout=0.5)) == 5


@pytest.mark.parametrize("turns", range(6))
async def test_a_child_that_fails_as_its_parent_turns_round_is_undone_with_it(
    world: World, service: Service, turns: int
) -> None:
    gate = asyncio.Event()

    @workflow
    async def child() -> None:
        await service.do("inner")
        await service.do("bad child")

    @workflow(supervision=Supervision(then="undo"))
    async def parent() -> None:
        await asyncio.gather(child(), service.do("bad parent"))

    async def refuse_then(turns: int) -> None:
        await gate.wait()
        for _ in range(turns):
            await asyncio.sleep(0)
        raise Unrecoverable("no")

    service.plan("do bad parent", lambda: refuse_then(0))
    service.plan("do bad child", lambda: refuse_then(turns))
    client = await world.start([parent, child], [service.agent])
    handle = await client.submit(parent, id="p")
    await asyncio.sleep(1)
    gate.set()
    await in_state(handle, TaskState.UNDONE, TaskState.ERROR)
    assert service.log == ["do inner", "undo inner"]
    assert (await handle.status()).state is TaskState.UNDONE


async def test_a_child_is_kept_as_long_as_its_parent_may_be_undone(world: World, service: Service) -> None:
    _, handle = await _long_over(world, service)
    await handle.cancel()
    with pytest.raises(TaskCancelled):
        await handle.result(timeout=60)
    assert service.log == ["do inner", "undo inner"]


async def test_a_child_whose_record_is_gone_is_an_operators(world: World, service: Service) -> None:
    client, handle = await _long_over(world, service)
    async with client.transaction() as transaction:
        await transaction.execute("delete from stepward_task where parent is not null")
    await handle.cancel()
    with pytest.raises(TaskFailed, match="its record is no longer kept"):
        await handle.result(timeout=60)
    await handle.mark_done("child/1~undo", None)
    with pytest.raises(TaskCancelled):
        await handle.result(timeout=60)


async def _long_over(world: World, service: Service) -> tuple[Any, Any]:
    """A parent that waits, whose child has ended longer ago than ended tasks are kept."""

    @workflow
    async def child() -> None:
        await service.do("inner")

    @workflow
    async def parent() -> None:
        await child()
        await wait_for("never")

    client = await world.start([parent, child], [service.agent], retention="1m")
    handle = await client.submit(parent, id="p")
    await asyncio.sleep(400)
    return client, handle


async def _there(world: World, client: Any, id: str) -> None:
    async def look() -> bool:
        return any(task.id == id for task in await client.tasks())

    await until(look)


async def test_a_child_has_no_longer_than_its_parent(world: World) -> None:
    @workflow(complete_by="1h")
    async def child() -> None:
        await wait_for("never")

    @workflow(complete_by="20s")
    async def parent() -> None:
        await child()

    client = await world.start([parent, child])
    handle = await client.submit(parent, id="p")
    await in_state(handle, TaskState.WAITING)
    assert (await client.task("p/child/1").status()).deadline == (await handle.status()).deadline


async def test_a_child_that_is_given_up_is_cancelled_while_its_parent_goes_on(world: World, service: Service) -> None:
    @workflow
    async def child() -> None:
        await service.do("inner")
        await wait_for("never")

    @workflow
    async def parent() -> object:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(3):
                await child()
        return await wait_for("go")

    client = await world.start([parent, child], [service.agent])
    handle = await client.submit(parent, id="p")
    await in_state(client.task("p/child/1"), TaskState.WAITING)
    await in_state(client.task("p/child/1"), TaskState.CANCELLED, within=30)
    assert (await handle.status()).state is TaskState.WAITING
