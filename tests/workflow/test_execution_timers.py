"""Timers follow from the history: recorded when they fire, fired again at their ordinal."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

from stepward.durations import LONGEST
from stepward.workflow.definition import workflow
from stepward.workflow.event_loop.futures import Timer
from tests.workflow.declared import charge
from tests.workflow.play import START, Play


@workflow
async def sleeping(seconds: float) -> float:
    await asyncio.sleep(seconds)
    return asyncio.get_running_loop().time()


def test_a_timer_is_recorded_only_when_it_fires() -> None:
    play = Play(sleeping, 60)
    assert play.decisions.recorded == []
    assert play.execution.next_timer == START + 60
    play.fire(59)
    assert play.end is None
    play.fire(3)
    (timer,) = play.decisions.recorded
    assert (timer.key, timer.name, timer.kind, timer.input, timer.output) == (
        "timer/1",
        "timer",
        "timer",
        b"60.0",
        b"null",
    )
    assert (timer.number, timer.ordinal, timer.at) == (1, 1, START + 62)
    assert play.result == START + 62
    assert play.verified() is None


def test_a_pending_timer_keeps_its_instant_over_a_restart() -> None:
    play = Play(sleeping, 60)
    play.restart()
    assert play.execution.next_timer == START + 60
    play.fire(60)
    assert play.result == START + 60


def test_due_timers_fire_in_order_of_instant_and_number_one_delivery_each() -> None:
    @workflow
    async def several() -> list[int]:
        order: list[int] = []

        async def one(number: int, seconds: float) -> None:
            await asyncio.sleep(seconds)
            order.append(number)

        await asyncio.gather(one(1, 3), one(2, 2), one(3, 2), one(4, 1))
        return order

    play = Play(several)
    play.fire(10)
    assert play.result == [4, 2, 3, 1]
    assert [timer.key for timer in play.decisions.recorded] == ["timer/4", "timer/2", "timer/3", "timer/1"]
    assert play.verified() is None


def test_a_timer_cancelled_by_one_that_fires_before_it_never_fires() -> None:
    @workflow
    async def racing() -> str:
        other = asyncio.create_task(asyncio.sleep(2))
        await asyncio.sleep(1)
        other.cancel()
        await charge("o")
        return "done"

    play = Play(racing)
    play.fire(10)
    assert [timer.key for timer in play.decisions.recorded] == ["timer/1"]
    assert play.execution.next_timer is None
    play.finish("charge/1")
    assert play.verified() is None


def test_a_timer_made_while_timers_fire_waits_for_the_next_time() -> None:
    @workflow
    async def ticking() -> None:
        for _ in range(3):
            fired = asyncio.Event()
            asyncio.get_running_loop().call_later(0, fired.set)
            await fired.wait()

    play = Play(ticking)
    for expected in ("timer/1", "timer/2", "timer/3"):
        assert play.execution.next_timer == START
        play.fire()
        assert [timer.key for timer in play.decisions.recorded] == [expected]
    assert play.result is None
    assert play.verified() is None


def test_a_timer_in_the_past_counts_as_no_delay() -> None:
    @workflow
    async def past() -> None:
        fired = asyncio.Event()
        asyncio.get_running_loop().call_at(5.0, fired.set)
        await fired.wait()

    play = Play(past)
    play.fire()
    assert play.decisions.recorded[0].input == b"0.0"


def test_delays_are_recorded_to_the_microsecond_and_clamped() -> None:
    play = Play(sleeping, 1 / 3)
    play.fire(1)
    assert play.decisions.recorded[0].input == b"0.333333"
    assert Play(sleeping, 1e30).execution.next_timer == START + LONGEST


def test_many_cancelled_timers_are_forgotten() -> None:
    @workflow
    async def bounded() -> None:
        for _ in range(500):
            async with asyncio.timeout(100):
                await charge("o")
        await asyncio.sleep(7)

    play = Play(bounded)
    for number in range(500):
        play.finish(f"charge/{number + 1}", later=0)
    gc.collect()
    assert sum(type(found) is Timer for found in gc.get_objects()) < 200
    assert play.execution.next_timer == START + 7
    play.fire(7)
    assert [one.key for one in play.decisions.recorded] == ["timer/501"]
    assert play.verified() is None


def test_timers_and_steps_replay_in_the_order_in_which_they_came() -> None:
    @workflow
    async def mixed() -> list[Any]:
        order: list[Any] = []

        async def one(name: str, seconds: float) -> None:
            try:
                async with asyncio.timeout(seconds):
                    order.append(await charge(name))
            except TimeoutError:
                order.append(f"{name} late")

        await asyncio.gather(one("a", 5), one("b", 10), one("c", 20))
        return order

    play = Play(mixed)
    play.finish("charge/3", "c")
    play.fire(6)
    play.restart()
    play.finish("charge/2", "b")
    assert play.result == ["c", "a late", "b"]
    assert play.verified() is None
