"""Ten times the steps cost about ten times the processor time, whatever becomes of them."""

from __future__ import annotations

import asyncio
import time

import pytest

from stepward import App, Supervision, TaskUndone, step, wait_for, workflow
from stepward.workflow.definition import Workflow
from tests.scheduler.world import Service, World, refuse, until

FEW, MANY = 400, 4_000
TIMES = 40
"""How much more ten times as many may cost; what grows with the square costs a hundred times as much."""
ROUNDS = 3
"""Runs of which the cheapest counts: garbage collection and a busy machine are not what is measured."""

FEW_UNDONE = 300
TIMES_UNDONE = 20

service = Service()


@step()
async def nothing(number: int) -> int:
    return number


@workflow
async def child(number: int) -> int:
    return number


@workflow
async def gather_all(count: int) -> int:
    return len(await asyncio.gather(*(nothing(number) for number in range(count))))


@workflow
async def give_up_all_but_one(count: int) -> int:
    calls = [asyncio.ensure_future(service.do(str(number))) for number in range(count)]
    _, pending = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
    for call in pending:
        call.cancel()
    return len(pending)


@workflow
async def give_up_children(count: int) -> int:
    calls = [asyncio.ensure_future(child(number)) for number in range(count)]
    _, pending = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
    for call in pending:
        call.cancel()
    return len(pending)


@workflow
async def fail_beside_many(count: int) -> None:
    service.plan("note 0", refuse())
    await asyncio.gather(*(service.note(str(number)) for number in range(count)))


@workflow
async def cancel_timers(count: int) -> None:
    for timer in [asyncio.ensure_future(asyncio.sleep(1000 + number)) for number in range(count)]:
        await asyncio.sleep(0)
        timer.cancel()
    await nothing(1)


@workflow
async def take_signals(count: int) -> None:
    await asyncio.gather(*(wait_for(f"number-{number}") for number in range(count)))


@workflow
async def give_up_signals(count: int) -> None:
    waits = [asyncio.ensure_future(wait_for(f"number-{number}")) for number in range(count)]
    await nothing(1)
    for wait in waits:
        wait.cancel()


FLOWS = [
    gather_all,
    give_up_all_but_one,
    pytest.param(give_up_children, marks=pytest.mark.faults),
    fail_beside_many,
    cancel_timers,
    give_up_signals,
]


@pytest.mark.parametrize("flow", FLOWS, ids=lambda flow: flow.name)
async def test_ten_times_the_steps_cost_about_ten_times_the_time(world: World, flow: Workflow[[int], object]) -> None:
    client = await world.start([flow, child], [service.agent])

    async def run(count: int) -> float:
        start = time.process_time()
        handle = await client.submit(flow, count)

        async def is_over() -> bool:
            status = await handle.status()
            return status.state in ("processed", "error")

        await until(is_over, within=3000)
        return time.process_time() - start

    few = min([await run(FEW) for _ in range(ROUNDS)])
    for _ in range(ROUNDS):
        if await run(MANY) < TIMES * few:
            return
    raise AssertionError(f"expected at most {TIMES} times the processor time of {FEW} steps for {MANY}")


@workflow(supervision=Supervision(then="undo"))
async def undo_all(count: int) -> None:
    await asyncio.gather(*(service.do(str(number)) for number in range(count)))
    await service.note("refused")


async def test_undoing_ten_times_the_steps_costs_about_ten_times_the_time(world: World) -> None:
    client = await world.start([undo_all], [service.agent])

    async def run(count: int) -> float:
        start = time.process_time()
        service.plan("note refused", refuse())
        handle = await client.submit(undo_all, count)
        with pytest.raises(TaskUndone):
            await handle.result(timeout=3000)
        return time.process_time() - start

    await run(FEW_UNDONE)
    few = await run(FEW_UNDONE)
    assert await run(10 * FEW_UNDONE) < TIMES_UNDONE * few


async def test_signals_for_many_waits_cost_the_same_each(world: World) -> None:
    app: App = world.app([take_signals])
    await world.run(app)
    client = await world.client(app)

    async def run(count: int) -> float:
        handle = await client.submit(take_signals, count)
        start = time.process_time()
        for number in reversed(range(count)):
            await handle.signal(f"number-{number}")
        await handle.result(timeout=3000)
        return time.process_time() - start

    few = min([await run(FEW) for _ in range(ROUNDS)])
    for _ in range(ROUNDS):
        if await run(4 * FEW) < 10 * few:
            return
    raise AssertionError("expected each signal to cost the same, however many waits there are")
