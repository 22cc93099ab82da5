"""The steps of one large gather are begun over passes of the event loop, and a crash between two commits loses none."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections import Counter

import pytest

from stepward import Agent, App, workflow
from stepward.errors import TaskCancelled
from stepward.model.states import StepState
from stepward.scheduler.turn_budget import MOST
from stepward.testing import environment
from stepward.workflow.execution import SLICE, Execution
from tests.scheduler.world import World

shelves = Agent("shelves", concurrency=5_000)
COUNT = 2 * SLICE + 300


@shelves.operation()
async def pick(number: int) -> int:
    return number


@workflow()
async def wide(count: int) -> int:
    return sum(await asyncio.gather(*[pick(number) for number in range(count)]))


async def test_the_event_loop_runs_between_two_slices(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    passes = [0]
    seen: list[int] = []
    go_on = Execution.go_on

    def counted(execution: Execution) -> None:
        seen.append(passes[0])
        go_on(execution)

    async def pass_by() -> None:
        while True:
            passes[0] += 1
            await asyncio.sleep(0)

    monkeypatch.setattr(Execution, "go_on", counted)
    client = await world.start([wide], [shelves])
    beside = asyncio.create_task(pass_by())
    handle = await client.submit(wide, COUNT)
    assert await handle.result(timeout=60) == sum(range(COUNT))
    beside.cancel()
    assert len(seen) >= COUNT // SLICE
    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize("commits", [1, 2, 5])
async def test_a_crash_between_two_commits_of_births_leaves_the_task_whole(commits: int) -> None:
    async with environment(App("shop", workflows=[wide], agents=[shelves])) as env:
        task = await env.client.submit(wide, COUNT)
        for _ in range(commits):
            await env.crash(at="turn.start.after")
        assert await task.result() == sum(range(COUNT))
        steps = await task.steps()
        keys: dict[int, set[str]] = {}
        for call in env.calls(pick):
            keys.setdefault(call.args[0], set()).add(call.idempotency_key)
    assert sorted(keys) == list(range(COUNT))
    assert Counter(map(len, keys.values())) == {1: COUNT}
    assert len(steps) == COUNT


async def test_a_wide_task_that_is_cancelled_is_closed_over_passes_of_the_event_loop(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[int] = []
    between: list[int] = []
    discard = Execution.discard

    def counted(execution: Execution, most: int | None = None) -> bool:
        between.append(len(closed))
        return discard(execution, most)

    holders = Agent("holders", concurrency=5_000)
    all_held = asyncio.Event()
    calls = itertools.count(1)

    @holders.operation()
    async def hold(number: int) -> int:
        if next(calls) == COUNT:
            all_held.set()
        await asyncio.Event().wait()
        return number

    @workflow()
    async def held(count: int) -> None:
        async def one(number: int) -> None:
            try:
                await hold(number)
            finally:
                closed.append(number)

        await asyncio.gather(*[one(number) for number in range(count)])

    monkeypatch.setattr(Execution, "discard", counted)
    client = await world.start([held], [holders])
    handle = await client.submit(held, COUNT)
    await asyncio.wait_for(all_held.wait(), 60)
    await handle.cancel()
    with pytest.raises(TaskCancelled):
        await handle.result(timeout=60)
    assert between == sorted(set(between))
    assert max(after - before for before, after in itertools.pairwise(between)) <= MOST
    assert sorted(closed) == list(range(COUNT))


async def test_a_crash_between_two_commits_that_leave_the_steps_of_a_wide_task_leaves_it_whole() -> None:
    holders = Agent("holders", concurrency=5_000)

    @holders.operation(complete_by="1h")
    async def hold(number: int) -> int:
        await asyncio.Event().wait()
        return number

    @workflow()
    async def held(count: int) -> None:
        await asyncio.gather(*[hold(number) for number in range(count)])

    async with environment(App("shop", workflows=[held], agents=[holders])) as env:
        task = await env.client.submit(held, COUNT)
        await env.skip("1s")
        await task.cancel()
        await env.crash(at="turn.end_undo.before")
        with pytest.raises(TaskCancelled):
            await task.result()
        assert Counter(step.state for step in await task.steps()) == {StepState.ABANDONED: COUNT}
        (alert,) = await env.client.alerts(id=task.id)
        assert len(json.loads(alert.details)["in_doubt"]) == COUNT
