"""continue_as_new, and the limits on what one run may hold."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

import pytest

from stepward import TaskFailed, TaskUndone, continue_as_new, current_task, now, step, wait_for, workflow
from stepward.model.records import History
from stepward.model.states import TaskState
from stepward.policies import Supervision
from stepward.store.verbs.actors.scheduler import SchedulerVerbs
from tests.scheduler.world import Service, World, in_state, until


@step()
async def add(one: int, other: int) -> int:
    return one + other


async def test_each_run_starts_with_an_empty_history(world: World) -> None:
    @workflow
    async def counting(left: int, total: int) -> list[int]:
        total = await add(total, left)
        if left > 1:
            continue_as_new(left - 1, total)
        return [total, current_task().run]

    client = await world.start([counting])
    handle = await client.submit(counting, 20, 0)
    assert await handle.result(timeout=30) == [210, 20]
    steps = await handle.steps()
    assert [each.run for each in steps if each.name == "add"] == [19, 20], "the last run is kept beside this one"
    assert (await handle.status()).run == 20


async def test_signals_that_were_not_taken_reach_the_next_run(world: World) -> None:
    @workflow
    async def chat(heard: list[str]) -> list[str]:
        heard = [*heard, await wait_for("say")]
        if len(heard) < 3:
            continue_as_new(heard)
        return heard

    client = await world.start([chat])
    handle = await client.submit(chat, [])
    for word in ("a", "b", "c"):
        await handle.signal("say", word)
    assert await handle.result(timeout=10) == ["a", "b", "c"]


@pytest.mark.parametrize("count", [10, 20, 40])
async def test_a_signal_of_a_backlog_is_read_once_whatever_the_number_of_runs(
    world: World, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    @workflow
    async def chat(heard: list[int]) -> list[int]:
        heard = [*heard, await wait_for("say")]
        if len(heard) < count:
            continue_as_new(heard)
        return heard

    loads: list[int] = []
    load = SchedulerVerbs.load

    async def counted(store: SchedulerVerbs, instance: str, tasks: Sequence[str]) -> list[History]:
        histories = await load(store, instance, tasks)
        loads.extend(row.number for history in histories for row in history.inbox)
        return histories

    monkeypatch.setattr(SchedulerVerbs, "load", counted)
    app = world.app([chat])
    client = await world.client(app)
    handle = await client.submit(chat, [])
    for number in range(count):
        await handle.signal("say", number)
    await world.run(app)
    assert await handle.result(timeout=30) == list(range(count))
    assert len(loads) == len(set(loads)) <= count
    assert (await handle.status()).run == count


async def test_time_goes_on_from_run_to_run(world: World) -> None:
    @workflow
    async def sleepy(left: int, woke: list[float]) -> list[float]:
        await asyncio.sleep(5)
        woke = [*woke, now().timestamp()]
        if left:
            continue_as_new(left - 1, woke)
        return woke

    client = await world.start([sleepy], evict_after="1s")
    handle = await client.submit(sleepy, 2, [])
    first, second, third = await handle.result(timeout=60)
    assert 5 <= second - first < 7
    assert 5 <= third - second < 7


async def test_undo_covers_the_runs_before(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(then="undo"), undo="all runs")
    async def order(left: int) -> None:
        await service.do(f"part {left}")
        if left:
            continue_as_new(left - 1)

    client = await world.start([order], [service.agent])
    handle = await client.submit(order, 2)
    await handle.result(timeout=10)
    await handle.undo()
    with pytest.raises(TaskUndone):
        await handle.result(timeout=20)
    assert service.log[3:] == ["undo part 0", "undo part 1", "undo part 2"]


async def test_a_run_with_too_many_steps_is_stopped(world: World) -> None:
    @workflow
    async def endless() -> None:
        while True:
            await add(1, 1)

    client = await world.start([endless], history_steps=50)
    handle = await client.submit(endless)
    with pytest.raises(TaskFailed, match="expected at most 50 steps in a run"):
        await handle.result(timeout=30)
    assert len(await handle.steps()) <= 50
    (alert,) = await client.alerts()
    assert alert.kind == "task_error"


async def test_a_history_with_too_many_bytes_is_stopped(world: World) -> None:
    @step()
    async def blob() -> str:
        return "x" * 1000

    @workflow
    async def endless() -> None:
        while True:
            await blob()

    client = await world.start([endless], history_bytes="4KiB", payload_bytes="2KiB")
    handle = await client.submit(endless)
    with pytest.raises(TaskFailed, match="expected at most 4,096 bytes of history"):
        await handle.result(timeout=30)
    assert len(await handle.steps()) <= 6


async def test_a_task_that_leaves_memory_between_runs_goes_on(world: World) -> None:
    @workflow
    async def chat(heard: list[str]) -> list[str]:
        heard = [*heard, await wait_for("say")]
        if len(heard) < 2:
            continue_as_new(heard)
        return heard

    app = world.app([chat], evict_after="1s")
    running = await world.run(app)
    client = await world.client(app)
    handle = await client.submit(chat, [])

    async def gone() -> bool:
        scheduler = running.host.scheduler
        return scheduler is not None and scheduler.held == 0

    async def in_run(run: int) -> bool:
        return (await handle.status()).run == run

    for run, word in enumerate(("a", "b"), start=1):
        await until(partial(in_run, run))
        await in_state(handle, TaskState.WAITING)
        await until(gone)
        await handle.signal("say", word)
    assert await handle.result(timeout=10) == ["a", "b"]
