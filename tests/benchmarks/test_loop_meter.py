"""The meter tells how long a callback held the loop, and not how long anything waited."""

from __future__ import annotations

import asyncio
import time

import pytest

from benchmarks.measures.bursts.loop_meter import loop_meter

HELD = 0.05


async def test_what_holds_the_loop_counts_and_what_waits_does_not() -> None:
    with loop_meter() as meter:
        await asyncio.sleep(HELD)
        assert meter.longest.seconds < HELD
        asyncio.get_running_loop().call_soon(time.sleep, HELD)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert meter.longest.seconds >= HELD
        assert meter.longest.cpu_seconds < meter.longest.seconds


async def test_what_was_measured_is_forgotten() -> None:
    with loop_meter() as meter:
        asyncio.get_running_loop().call_soon(time.sleep, HELD)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        meter.reset()
        assert meter.figures("burst") == {"burst_ms": 0.0, "burst_cpu_ms": pytest.approx(0.0)}
