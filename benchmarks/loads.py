"""Loads that several measures put on a client, and the middle of what they found."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from benchmarks.application import ten
from stepward import Client

AT_ONCE = 128
STEPS = 10


async def run_ten_steps(client: Client, tasks: int, *, reply_to: str | None = None) -> float:
    """Seconds of that many ten-step tasks, 128 of them in flight."""

    async def one(n: int) -> None:
        handle = await client.submit(ten, f"order {n}", reply_to=reply_to)
        await handle.result()

    return await concurrently(AT_ONCE, tasks, one)


async def alone(client: Client, repeats: int) -> float:
    """Median seconds of one ten-step task, from submission to its result."""
    seconds = []
    for n in range(repeats):
        began = time.perf_counter()
        await (await client.submit(ten, f"order {n}")).result()
        seconds.append(time.perf_counter() - began)
    return median(seconds)


async def concurrently(at_once: int, count: int, work: Callable[[int], Coroutine[Any, Any, Any]]) -> float:
    """Seconds of that many pieces of work, so many of them at once."""
    numbers = iter(range(count))

    async def worker() -> None:
        for n in numbers:
            await work(n)

    began = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(at_once)))
    return time.perf_counter() - began


def median(values: Sequence[float]) -> float:
    """The middle one."""
    return sorted(values)[len(values) // 2]


def ratio(these: Sequence[float], those: Sequence[float]) -> float:
    """The middle one of the rounds' ratios: each round's figures were taken one right after the other."""
    return median([this / that for this, that in zip(these, those, strict=True)])
