"""What tasks tell that are suspended, undone, cancelled, or brought back by an operator."""

from __future__ import annotations

import asyncio

import pytest

from stepward import (
    Supervision,
    TaskCancelled,
    TaskFailed,
    TaskUndone,
    wait_for,
    workflow,
)
from stepward.model.states import TaskState
from tests.scheduler.hearing import BEGUN, QUEUE, QUICK, Hearing, course
from tests.scheduler.world import Service, World, fault, hang, in_state, refuse, take, until_set

PATIENT = Supervision(threshold=3, backoff=QUICK)


async def test_suspended_and_resumed(world: World, service: Service) -> None:
    @workflow
    async def order() -> str:
        await wait_for("go")
        return await service.do("a")

    client = await world.start([order], [service.agent])
    handle = await client.submit(order, id="t", reply_to=QUEUE)
    await in_state(handle, TaskState.WAITING)
    await handle.suspend()
    await in_state(handle, TaskState.SUSPENDED)
    await handle.signal("go")
    await handle.resume()
    await handle.result(timeout=60)
    assert await Hearing(client).lines("t") == [
        *BEGUN,
        "waiting signal go",
        "suspended",
        "resumed",
        "step.completed svc.do/1",
        "completed = a done",
    ]


async def test_resumed_it_tells_again_what_it_waits_for(world: World) -> None:
    @workflow
    async def order() -> None:
        await wait_for("go")

    client = await world.start([order])
    handle = await client.submit(order, id="t", reply_to=QUEUE)
    await in_state(handle, TaskState.WAITING)
    await handle.suspend()
    await in_state(handle, TaskState.SUSPENDED)
    await handle.resume()
    hearing = Hearing(client)
    assert await hearing.lines("t") == [*BEGUN, "waiting signal go", "suspended", "resumed", "waiting signal go"]


async def test_undone_by_its_policy(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(then="undo"))
    async def order() -> None:
        await service.do("a")
        await service.do("b")

    service.plan("do b", refuse("sold out"))
    assert await course(world, service, TaskUndone, order) == [
        *BEGUN,
        "step.completed svc.do/1",
        "step.failed svc.do/2 (sold out)",
        "undoing (sold out)",
        "undone (sold out)",
    ]


async def test_undone_after_its_end(world: World, service: Service) -> None:
    @workflow
    async def order() -> str:
        return await service.do("a")

    client = await world.start([order], [service.agent])
    handle = await client.submit(order, id="t", reply_to=QUEUE)
    await handle.result(timeout=60)
    await handle.undo()
    await in_state(handle, TaskState.UNDONE)
    assert await Hearing(client).lines("t") == [
        *BEGUN,
        "step.completed svc.do/1",
        "completed = a done",
        "undoing",
        "undone",
    ]


async def test_an_undo_that_failed_and_was_resubmitted(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(then="undo"))
    async def order() -> None:
        await service.do("a")
        await service.do("b")

    service.plan("do b", refuse("sold out"))
    service.plan("undo a", refuse("too late"))
    client = await world.start([order], [service.agent])
    handle = await client.submit(order, id="t", reply_to=QUEUE)
    await in_state(handle, TaskState.ERROR)
    await handle.resubmit()
    await in_state(handle, TaskState.UNDONE)
    told = await Hearing(client).lines("t")
    assert told[4] == "undoing (sold out)"
    assert told[5].startswith("failed (")
    assert told[6:] == ["undoing", "undone (sold out)"]


async def test_a_repeated_undo_is_no_delayed_step(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(threshold=2, backoff=QUICK, then="undo"))
    async def order() -> None:
        await service.do("a")
        await service.do("b")

    service.plan("do b", refuse("sold out"))
    service.plan("undo a", hang(), fault())
    told = await course(world, service, TaskUndone, order)
    assert told[4:] == ["undoing (sold out)", "undone (sold out)"]


async def test_the_repeated_undo_of_an_abandoned_step_is_none_either(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(threshold=2, backoff=QUICK, then="undo"))
    async def order() -> str:
        try:
            async with asyncio.timeout(3):
                await service.do("a")
        except TimeoutError:
            return "without"
        return "never"

    service.plan("do a", take(5))
    service.plan("undo a", hang())
    assert await course(world, service, None, order) == [*BEGUN, "completed = without"]
    assert service.log[-1:] == ["undo a"]


async def test_a_failed_step_that_was_resubmitted(world: World, service: Service) -> None:
    @workflow
    async def order() -> str:
        return await service.do("a")

    service.plan("do a", refuse("sold out"))
    client = await world.start([order], [service.agent])
    handle = await client.submit(order, id="t", reply_to=QUEUE)
    await in_state(handle, TaskState.ERROR)
    await handle.resubmit()
    await handle.result(timeout=60)
    assert await Hearing(client).lines("t") == [
        *BEGUN,
        "step.failed svc.do/1 (sold out)",
        "failed (sold out)",
        "resumed",
        "step.completed svc.do/1",
        "completed = a done",
    ]


async def test_cancelled_before_its_start(world: World, service: Service) -> None:
    @workflow
    async def order() -> str:
        return await service.do("a")

    client = await world.start([order], [service.agent])
    handle = await client.submit(order, id="t", delay="1h", reply_to=QUEUE)
    await handle.cancel()
    with pytest.raises(TaskCancelled):
        await handle.result(timeout=60)
    assert await Hearing(client).lines("t") == ["request.received", "cancelled"]


async def test_cancelled_midway(world: World, service: Service) -> None:
    @workflow
    async def order() -> None:
        await service.do("a")
        await service.do("b")

    gate = asyncio.Event()
    service.plan("do b", until_set(gate))
    client = await world.start([order], [service.agent])
    handle = await client.submit(order, id="t", reply_to=QUEUE)
    hearing = Hearing(client)
    await hearing.until("step.completed")
    await handle.cancel()
    await hearing.until("task.undoing")
    gate.set()
    with pytest.raises(TaskCancelled):
        await handle.result(timeout=60)
    # What still ends while the task turns back is no progress of it.
    assert await hearing.lines("t") == [*BEGUN, "step.completed svc.do/1", "undoing", "cancelled"]


DECIDED_AFTER_AN_UNDO = (
    "update stepward_step set state = 'to_repeat', in_doubt = 1, failure_count = 1, repeat_at = 1.0",
    """insert into stepward_inbox (task, kind, name, body, sender)
    select uid, 'undo', '', x'7b7d', '' from stepward_task""",
    """insert into stepward_inbox (task, kind, name, body, sender)
    select uid, 'step', '1/svc.do/1', x'6e756c6c', '' from stepward_task""",
    "update stepward_task set inbox = 2",
)


async def test_a_delay_that_an_undo_overtakes_sends_no_status_event(world: World, service: Service) -> None:
    @workflow(supervision=PATIENT)
    async def order() -> None:
        await service.do("a")

    service.plan("do a", hang())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order, id="t", reply_to=QUEUE)
    hearing = Hearing(client)
    await hearing.until("task.started")
    # The owner reads of the undo first, and of the Supervisor's decision when it reads the task again.
    async with client.transaction() as transaction:
        for sql in DECIDED_AFTER_AN_UNDO:
            await transaction.execute(sql)
    await in_state(handle, TaskState.UNDONE)
    assert await hearing.lines("t") == [*BEGUN, "undoing", "undone"]


async def test_past_its_own_deadline_it_tells_why(world: World) -> None:
    @workflow
    async def order() -> None:
        await wait_for("never")

    client = await world.start([order], evict_after="1s")
    handle = await client.submit(order, id="t", complete_by="15s", reply_to=QUEUE)
    with pytest.raises(TaskFailed):
        await handle.result(timeout=60)
    told = await Hearing(client).lines("t")
    assert told[:3] == [*BEGUN, "waiting signal never"]
    assert len(told) == 4
    assert told[3].startswith("failed (")
    assert "was not done by its complete-by" in told[3]
