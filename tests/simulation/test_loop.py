"""The loop of the simulation: virtual time, order by chance, processes that stop and die."""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextvars import Context
from typing import Any

import pytest

from simulation.environment.loop import LANE, ProcessLane, SimulationLoop, Stalled
from stepward.scheduler.turn import Wakeup


@pytest.fixture
def loop() -> Iterator[SimulationLoop]:
    loop = SimulationLoop(random.Random(7))
    yield loop
    loop.close()


def inside(lane: ProcessLane) -> Context:
    context = Context()
    context.run(LANE.set, lane)
    return context


def test_time_leaps_to_the_next_timer(loop: SimulationLoop) -> None:
    async def sleep() -> float:
        await asyncio.sleep(3600)
        return loop.time()

    assert loop.run_until_complete(sleep()) == 3600


def test_callbacks_of_one_lane_keep_their_order(loop: SimulationLoop) -> None:
    seen: list[int] = []
    lane = loop.open_lane("a")
    for number in range(20):
        loop.call_soon(seen.append, number, context=inside(lane))
    loop.call_later(1, loop.stop)
    loop.run_forever()
    assert seen == list(range(20))


def test_chance_decides_between_lanes() -> None:
    def order(seed: int) -> str:
        loop = SimulationLoop(random.Random(seed))
        seen: list[str] = []
        for name in "abc":
            lane = loop.open_lane(name)
            for _ in range(3):
                loop.call_soon(seen.append, name, context=inside(lane))
        loop.call_later(1, loop.stop)
        loop.run_forever()
        loop.close()
        return "".join(seen)

    assert order(1) == order(1)
    assert len({order(seed) for seed in range(10)}) > 1


def test_a_parked_lane_goes_on_where_it_stopped(loop: SimulationLoop) -> None:
    lane = loop.open_lane("a")
    seen: list[float] = []

    async def work() -> None:
        await asyncio.sleep(1)
        seen.append(loop.time())

    loop.create_task(work(), context=inside(lane))

    def park(parked: bool) -> None:
        lane.parked = parked

    loop.call_later(0.5, park, True)
    loop.call_later(5, park, False)
    loop.call_later(6, loop.stop)
    loop.run_forever()
    assert seen == [5]


def test_nothing_of_a_closed_lane_runs_any_more(loop: SimulationLoop) -> None:
    lane = loop.open_lane("a")
    seen: list[str] = []

    async def work() -> None:
        try:
            await asyncio.sleep(1)
            seen.append("went on")
        finally:
            seen.append("closed")

    loop.create_task(work(), context=inside(lane))
    loop.call_later(0.5, loop.close_lane, lane)
    loop.call_later(2, loop.stop)
    loop.run_forever()
    assert seen == ["closed"]


def test_a_stall_lets_all_other_tasks_continue(loop: SimulationLoop) -> None:
    stalling, other = loop.open_lane("a"), loop.open_lane("b")
    seen: list[tuple[str, float]] = []

    async def stall() -> None:
        seen.append(("stalls", loop.time()))
        loop.stall(3)
        seen.append(("goes on", loop.time()))
        loop.stop()

    async def work() -> None:
        await asyncio.sleep(1)
        seen.append(("works", loop.time()))

    loop.create_task(stall(), context=inside(stalling))
    loop.create_task(work(), context=inside(other))
    loop.run_forever()
    assert seen == [("stalls", 0), ("works", 1), ("goes on", 3)]


def test_what_others_begin_during_a_stall_is_not_given_to_the_code_that_stalls(loop: SimulationLoop) -> None:
    stalling, other = loop.open_lane("a"), loop.open_lane("b")
    kept: list[Any] = []

    async def stall() -> None:
        outer = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(firstiter=kept.append)  # as a workflow that is driven does
        loop.stall(3)
        assert sys.get_asyncgen_hooks().firstiter == kept.append
        sys.set_asyncgen_hooks(*outer)
        loop.stop()

    async def numbers() -> AsyncIterator[int]:
        yield 1

    async def work() -> None:
        await asyncio.sleep(1)
        assert [number async for number in numbers()] == [1]

    loop.create_task(stall(), context=inside(stalling))
    working = loop.create_task(work(), context=inside(other))
    loop.run_forever()
    assert (working.exception(), kept) == (None, [])


async def forever() -> None:
    await asyncio.get_running_loop().create_future()


async def spin() -> None:
    loop = asyncio.get_running_loop()
    while loop.is_running():  # noqa: ASYNC110  it is to spin
        await asyncio.sleep(0)


async def spin_by_timers() -> None:
    loop = asyncio.get_running_loop()
    while loop.is_running():
        rung = loop.create_future()
        loop.call_at(loop.time(), rung.set_result, None)
        await rung


@pytest.mark.parametrize("work", [forever, spin, spin_by_timers])
def test_a_loop_that_gets_nowhere_says_so(
    loop: SimulationLoop, work: Callable[[], Coroutine[None, None, None]]
) -> None:
    task = loop.create_task(work())
    with pytest.raises(Stalled):
        loop.run_until_complete(task)
    loop.world.close()


def test_sleeps_between_turns_end_in_a_process_whose_clock_is_a_rounding_error_short(loop: SimulationLoop) -> None:
    lane = loop.open_lane("slow")
    lane.rate = 0.97
    wakeup = Wakeup()

    async def sleep() -> None:
        for number in range(1, 300):
            await wakeup.sleep(number / 7)

    loop.run_until_complete(loop.create_task(sleep(), context=inside(lane)))


def test_threads_are_refused(loop: SimulationLoop) -> None:
    with pytest.raises(RuntimeError, match="expected no thread"):
        loop.run_in_executor(None, print)


def test_a_process_with_a_fast_clock_is_woken_early_and_reads_a_later_time(loop: SimulationLoop) -> None:
    fast, right = loop.open_lane("fast"), loop.open_lane("right")
    fast.rate = 2.0
    woken: dict[str, tuple[float, float]] = {}

    async def sleep(name: str) -> None:
        async with asyncio.timeout(20):
            await asyncio.sleep(10)
        woken[name] = (loop.instant(), loop.time())

    loop.create_task(sleep("fast"), context=inside(fast))
    loop.create_task(sleep("right"), context=inside(right))
    loop.call_later(30, loop.stop)
    loop.run_forever()
    assert woken == {"fast": (5, 10), "right": (10, 10)}
