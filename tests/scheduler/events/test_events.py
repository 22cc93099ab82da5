"""What tasks tell the private response queue that their submission named (R29), going forward."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from stepward import (
    StepFailed,
    Supervision,
    TaskFailed,
    continue_as_new,
    step,
    wait_for,
    workflow,
)
from stepward.client import session_of
from stepward.model.states import TaskState
from tests.scheduler.hearing import BEGUN, QUEUE, QUICK, Hearing, course
from tests.scheduler.world import Service, World, fault, hang, in_state, refuse, take, until_set

PATIENT = Supervision(threshold=3, backoff=QUICK)


async def test_a_straight_course(world: World, service: Service) -> None:
    @workflow
    async def order() -> str:
        await service.do("a")
        return await service.do("b")

    assert await course(world, service, None, order) == [
        *BEGUN,
        "step.completed svc.do/1",
        "step.completed svc.do/2",
        "completed = b done",
    ]


async def test_a_task_that_waits_for_its_claim_tells_the_same(world: World, service: Service) -> None:
    @workflow
    async def order() -> str:
        return await service.do("a")

    app = world.app([order], [service.agent])
    await world.run(app)
    async with app.client() as client:
        await (await client.submit(order, id="t", delay="5s", reply_to=QUEUE)).result(timeout=60)
        born = await Hearing(client).lines("t")
    assert born == [*BEGUN, "step.completed svc.do/1", "completed = a done"]


async def test_parallel_steps_send_status_events_as_they_complete(world: World, service: Service) -> None:
    @workflow
    async def order() -> None:
        await asyncio.gather(*(service.do(what) for what in "abc"))

    for what, seconds in (("a", 3), ("b", 1), ("c", 2)):
        service.plan(f"do {what}", take(seconds))
    assert await course(world, service, None, order) == [
        *BEGUN,
        *(f"step.completed svc.do/{number}" for number in (2, 3, 1)),
        "completed = None",
    ]


async def test_local_steps_send_status_events_like_others(world: World, service: Service) -> None:
    @step()
    async def price() -> int:
        return 5

    @step(transaction=True)
    async def booked(transaction: Any) -> int:
        return len(await transaction.execute("select 1"))

    @workflow
    async def order() -> int:
        return await price() + await booked()

    told = await course(world, service, None, order)
    assert [line.partition("/")[0] for line in told] == [
        *BEGUN,
        "step.completed price",
        "step.completed booked",
        "completed = 6",
    ]


async def test_a_step_that_failed_and_was_caught(world: World, service: Service) -> None:
    @workflow
    async def order() -> str:
        try:
            await service.do("a")
        except StepFailed:
            return await service.do("b")
        return "never"

    service.plan("do a", refuse("sold out"))
    assert await course(world, service, None, order) == [
        *BEGUN,
        "step.failed svc.do/1 (sold out)",
        "step.completed svc.do/2",
        "completed = b done",
    ]


async def test_each_repeat_that_the_supervisor_decides_sends_one_status_event(world: World, service: Service) -> None:
    @workflow(supervision=PATIENT)
    async def order() -> str:
        return await service.do("a")

    service.plan("do a", hang(), fault(), hang())
    assert await course(world, service, None, order) == [
        *BEGUN,
        *(f"step.delayed svc.do/1 {failures}" for failures in (1, 2, 3)),
        "step.completed svc.do/1",
        "completed = a done",
    ]


async def test_a_step_that_gave_up_for_good_raises_in_the_workflow(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(threshold=1, backoff=QUICK, then="raise"))
    async def order() -> str:
        try:
            return await service.do("a")
        except StepFailed:
            return "without"

    service.plan("do a", fault("no answer"), fault("no answer"))
    told = await course(world, service, None, order)
    assert told[:3] == [*BEGUN, "step.delayed svc.do/1 1"]
    assert told[3].startswith("step.failed svc.do/1 (")
    assert told[4:] == ["completed = without"]


async def test_past_the_threshold_the_task_failed(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(threshold=1, backoff=QUICK, then="alert"))
    async def order() -> None:
        await service.do("a")

    service.plan("do a", *[hang()] * 2)
    told = await course(world, service, TaskFailed, order)
    assert told[:3] == [*BEGUN, "step.delayed svc.do/1 1"]
    assert len(told) == 4
    assert told[3].startswith("failed (")


@pytest.mark.parametrize("evict_after", ["0s", "never"])
async def test_each_wait_sends_a_status_event_when_it_begins(world: World, service: Service, evict_after: str) -> None:
    @workflow
    async def order() -> Any:
        await asyncio.sleep(20)
        await asyncio.sleep(20)
        await wait_for("first")
        return await wait_for("second")

    client = await world.start([order], evict_after=evict_after)
    hearing = Hearing(client)
    handle = await client.submit(order, id="t", reply_to=QUEUE)
    for name in ("first", "second"):
        while (await hearing.until("task.waiting")).data["waits_for"] != f"signal {name}":
            pass
        await handle.signal(name, 7)
    assert await handle.result(timeout=60) == 7
    assert await hearing.lines("t") == [
        *BEGUN,
        "waiting timer",
        "waiting timer",
        "waiting signal first",
        "waiting signal second",
        "completed = 7",
    ]


async def test_a_second_wait_for_the_same_sends_a_status_event_as_well(world: World) -> None:
    @workflow
    async def order() -> list[int]:
        return [await wait_for("go"), await wait_for("go")]

    client = await world.start([order], evict_after="0s")
    hearing = Hearing(client)
    handle = await client.submit(order, id="t", reply_to=QUEUE)
    for number in (1, 2):
        await hearing.until("task.waiting")
        await handle.signal("go", number)
    assert await handle.result(timeout=60) == [1, 2]
    assert await hearing.lines("t") == [*BEGUN, *["waiting signal go"] * 2, "completed = [1, 2]"]


async def test_what_it_waited_for_is_not_listed_while_it_works(world: World, service: Service) -> None:
    @workflow
    async def order() -> str:
        await wait_for("go")
        return await service.do("a")

    gate = asyncio.Event()
    service.plan("do a", until_set(gate))
    client = await world.start([order], [service.agent], evict_after="0s")
    handle = await client.submit(order)
    assert await in_state(handle, TaskState.WAITING)
    assert (await handle.status()).waits_for == "signal go"
    await asyncio.sleep(5)
    await handle.signal("go")
    await in_state(handle, TaskState.PROCESSING)
    await asyncio.sleep(1)
    status = await handle.status()
    assert (status.state, status.waits_for) == (TaskState.PROCESSING, None)
    gate.set()
    await handle.result(timeout=60)


async def test_a_timer_tells_until_when(world: World) -> None:
    @workflow
    async def order() -> None:
        await asyncio.sleep(100)

    client = await world.start([order])
    handle = await client.submit(order, id="t", reply_to=QUEUE)
    waiting = await Hearing(client).until("task.waiting")
    assert 99 < waiting.data["until"] - (await handle.status()).created_at < 101


async def test_what_was_evicted_and_comes_back_waits_on_in_silence(world: World, service: Service) -> None:
    @workflow
    async def order() -> str:
        await wait_for("go")
        return await service.do("a")

    client = await world.start([order], [service.agent], evict_after="0s")
    handle = await client.submit(order, id="t", reply_to=QUEUE)
    hearing = Hearing(client)
    assert await hearing.lines("t") == [*BEGUN, "waiting signal go"]
    for _ in range(3):
        await handle.signal("another")
        assert len(await hearing.lines("t")) == 3
    assert (await handle.status()).state is TaskState.WAITING
    await handle.signal("go")
    assert await hearing.lines("t") == [
        *BEGUN,
        "waiting signal go",
        "step.completed svc.do/1",
        "completed = a done",
    ]


async def test_a_next_run_goes_on_in_the_same_sequence(world: World, service: Service) -> None:
    @workflow
    async def order(number: int = 0) -> str:
        await service.do(str(number))
        if number < 2:
            continue_as_new(number + 1)
        return "over"

    assert await course(world, service, None, order) == [
        *BEGUN,
        *["step.completed svc.do/1"] * 3,
        "completed = over",
    ]


async def test_child_tasks_tell_nothing_of_themselves(world: World, service: Service) -> None:
    @workflow
    async def part(what: str) -> str:
        return await service.do(what)

    @workflow
    async def order() -> str:
        return await part("a") + await part("b")

    client = await world.start([order, part], [service.agent])
    await (await client.submit(order, id="t", reply_to=QUEUE)).result(timeout=60)
    hearing = Hearing(client)
    assert await hearing.lines("t") == [
        *BEGUN,
        "waiting part/1",
        "step.completed part/1",
        "waiting part/2",
        "step.completed part/2",
        "completed = a doneb done",
    ]
    assert await hearing.lines("t/part/1") == []
    child = await session_of(client).store.client.task("t/part/1")
    assert child is not None
    assert (child.reply_to, child.events) == (None, 0)


async def test_a_task_without_a_response_queue_sends_no_status_events(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(threshold=1, backoff=QUICK, then="undo"))
    async def order() -> None:
        await service.do("a")
        await wait_for("go")
        await service.do("b")

    service.plan("do a", fault())
    service.plan("do b", refuse())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order, id="t")
    await in_state(handle, TaskState.WAITING)
    await handle.suspend()
    await in_state(handle, TaskState.SUSPENDED)
    await handle.resume()
    await handle.signal("go")
    await in_state(handle, TaskState.UNDONE)
    async with client.transaction() as transaction:
        assert await transaction.execute("select * from stepward_message") == []
        assert await transaction.execute("select events from stepward_task") == [(0,)]


async def test_a_workflow_that_breaks_at_its_birth(world: World, service: Service) -> None:
    @workflow
    async def order() -> None:
        await asyncio.open_connection("127.0.0.1", 9)

    told = await course(world, service, TaskFailed, order)
    assert told[:2] == BEGUN
    assert len(told) == 3
    assert told[2].startswith("failed (")


async def test_a_workflow_that_breaks_later_tells_nothing_of_that_turn(world: World, service: Service) -> None:
    @workflow
    async def order() -> None:
        await service.do("a")
        await service.do("b")
        await asyncio.open_connection("127.0.0.1", 9)

    told = await course(world, service, TaskFailed, order)
    assert told[:3] == [*BEGUN, "step.completed svc.do/1"]
    assert len(told) in (4, 5)
    assert told[-1].startswith("failed (")
