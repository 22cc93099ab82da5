"""The sleep between two turns ends at its time or when something comes in, whatever the sleeps before were set to."""

from __future__ import annotations

import asyncio

import pytest

from stepward.scheduler.turn import Wakeup
from tests.virtual import START


def passed() -> float:
    return round(asyncio.get_running_loop().time() - START, 3)


async def stirred_after(seconds: float, wakeup: Wakeup, sleep: float) -> None:
    """Sleep that is ended from outside."""
    asyncio.get_running_loop().call_later(seconds, wakeup.stir)
    await wakeup.sleep(sleep)


@pytest.mark.parametrize("before", [2, 10, 100])
async def test_a_sleep_ends_at_its_own_time_after_one_that_was_ended_early(before: float) -> None:
    wakeup = Wakeup()
    await stirred_after(1, wakeup, before)
    assert passed() == 1
    await wakeup.sleep(20)
    assert passed() == 21


async def test_nothing_of_it_is_left_to_the_event_loop_once_it_is_closed() -> None:
    wakeup = Wakeup()
    await stirred_after(1, wakeup, 10)
    wakeup.close()
    await asyncio.sleep(10)
    assert passed() == 11
    await wakeup.sleep(5)
    assert passed() == 16


async def test_no_sleep_at_all_gives_way_once() -> None:
    wakeup, ran = Wakeup(), list[int]()
    asyncio.get_running_loop().call_soon(ran.append, 1)
    await wakeup.sleep(0)
    assert (ran, passed()) == ([1], 0)
