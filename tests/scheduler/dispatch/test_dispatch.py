"""Dispatch by room, delays, and tasks that leave memory and come back."""

from __future__ import annotations

import asyncio

from stepward import wait_for, workflow
from stepward.model.states import TaskState
from stepward.running import Running
from tests.scheduler.world import Service, World, hang, in_state, states, until, until_set


async def test_without_room_steps_wait_in_the_store_highest_priority_first(world: World) -> None:
    service = Service(concurrency=1)
    gate = asyncio.Event()

    @workflow
    async def order(what: str) -> None:
        await service.do(what)

    service.plan("do first", until_set(gate))
    client = await world.start([order], [service.agent])
    first = await client.submit(order, "first")
    waiting = [
        await client.submit(order, f"p{priority}", priority=priority, id=f"p{priority}") for priority in (1, 5, 9, 3, 7)
    ]
    for handle in waiting:
        await until(lambda handle=handle: states(handle))  # type: ignore[misc]
        (step,) = await handle.steps()
        # No attempt, no deadline: nothing expires while it waits for room.
        assert (step.state, step.attempt, step.complete_by) == ("not_started", 0, None)
    gate.set()
    await asyncio.gather(*[handle.result(timeout=60) for handle in (first, *waiting)])
    assert service.log == ["do first", "do p9", "do p7", "do p5", "do p3", "do p1"]


async def test_waiting_for_room_counts_no_failure(world: World) -> None:
    service = Service(concurrency=1)

    @workflow
    async def order(what: str) -> None:
        await service.do(what)

    service.plan("do slow", hang(), hang())
    client = await world.start([order], [service.agent])
    slow = await client.submit(order, "slow")
    quick = await client.submit(order, "quick")
    await asyncio.gather(slow.result(timeout=200), quick.result(timeout=200))
    (step,) = await quick.steps()
    assert (step.attempt, step.failure_count) == (1, 0)


async def test_a_window_is_free_again_after_an_attempt_expired(world: World) -> None:
    service = Service(concurrency=2)

    @workflow
    async def order(number: int) -> None:
        await service.do(str(number))

    for number in range(6):
        service.plan(f"do {number}", hang())
    client = await world.start([order], [service.agent])
    handles = [await client.submit(order, number) for number in range(6)]
    await asyncio.gather(*[handle.result(timeout=300) for handle in handles])
    assert sorted(service.log) == [f"do {number}" for number in range(6)]


async def test_a_delayed_task_starts_at_its_time(world: World, service: Service) -> None:
    @workflow
    async def order() -> None:
        await service.do("a")

    client = await world.start([order], [service.agent])
    handle = await client.submit(order, delay="30s")
    await asyncio.sleep(25)
    assert (service.log, (await handle.status()).state) == ([], TaskState.PENDING)
    await handle.result(timeout=10)
    status = await handle.status()
    assert status.started_at is not None
    assert 30 <= status.started_at - status.created_at < 32


async def test_a_waiting_task_leaves_memory_and_a_signal_wakes_it(world: World, service: Service) -> None:
    @workflow
    async def order() -> list[object]:
        return [await service.do("a"), await wait_for("go"), await service.do("b")]

    app = world.app([order], [service.agent], evict_after="2s")
    running = await world.run(app)
    client = await world.client(app)
    handle = await client.submit(order)
    await until(lambda: _left_memory(running))
    status = await handle.status()
    assert (status.state, status.locked_by, status.waits_for) == (TaskState.WAITING, None, "signal go")
    await handle.signal("go", 1)
    assert await handle.result(timeout=5) == ["a done", 1, "b done"]
    assert service.log == ["do a", "do b"]
    assert (await handle.status()).failure_count == 0


async def test_a_waiting_task_leaves_memory_and_its_timer_wakes_it(world: World, service: Service) -> None:
    @workflow
    async def order() -> str:
        await service.do("a")
        await asyncio.sleep(60)
        return await service.do("b")

    app = world.app([order], [service.agent], evict_after="2s")
    running = await world.run(app)
    handle = await (await world.client(app)).submit(order)
    await until(lambda: _left_memory(running))
    assert (await handle.status()).locked_by is None
    assert await handle.result(timeout=120) == "b done"
    status = await handle.status()
    assert status.finished_at is not None
    assert 60 <= status.finished_at - status.created_at < 63


async def test_a_waiting_task_leaves_memory_and_its_child_wakes_it(world: World, service: Service) -> None:
    @workflow
    async def child() -> object:
        return await wait_for("go")

    @workflow
    async def parent() -> object:
        return await child()

    app = world.app([parent, child], [service.agent], evict_after="2s")
    running = await world.run(app)
    client = await world.client(app)
    handle = await client.submit(parent, id="p")
    await until(lambda: _left_memory(running))
    await client.task("p/child/1").signal("go", 3)
    assert await handle.result(timeout=10) == 3


async def test_too_many_waiting_tasks_leave_memory(world: World) -> None:
    @workflow
    async def order() -> object:
        return await wait_for("go")

    app = world.app([order], tasks_in_memory=5, evict_after="1h")
    running = await world.run(app)
    client = await world.client(app)
    handles = [await client.submit(order) for _ in range(20)]
    for handle in handles:
        await in_state(handle, TaskState.WAITING)

    async def few() -> bool:
        scheduler = running.host.scheduler
        return scheduler is not None and scheduler.held <= 5

    await until(few)
    for number, handle in enumerate(handles):
        await handle.signal("go", number)
    assert [await handle.result(timeout=30) for handle in handles] == list(range(20))


async def test_a_scheduler_claims_no_more_than_it_may_hold(world: World) -> None:
    service = Service(concurrency=100)
    gate = asyncio.Event()

    @workflow
    async def order(what: str) -> None:
        await service.do(what)

    for number in range(20):
        service.plan(f"do {number}", until_set(gate))
    client = await world.start([order], [service.agent], tasks_in_flight=8)
    handles = await client.submit_many(order, [(str(number),) for number in range(20)])
    await asyncio.sleep(5)
    held = [task for task in await client.tasks() if task.locked_by]
    assert len(held) == 8
    gate.set()
    await asyncio.gather(*[handle.result(timeout=30) for handle in handles])


async def _left_memory(running: Running) -> bool:
    scheduler = running.host.scheduler
    return scheduler is not None and scheduler.held == 0
