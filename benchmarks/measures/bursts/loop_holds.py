"""The longest time for which bursts of work hold the event loop, by kind of burst, in milliseconds.

The loop's own callbacks are timed, so that what waits for the store or for other processes does not count. The CPU that
the same callback took stands beside it: other processes of the machine change the first figure, not the second.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from benchmarks.application import waiting
from benchmarks.loads import concurrently
from benchmarks.measures.bursts.loop_meter import MILLISECONDS, LoopMeter, loop_meter
from benchmarks.store_locations import Place
from benchmarks.store_queries import until
from stepward import Agent, App, Client, now, workflow

LARGE_BYTES = 1_000_000
"""Bytes of a large payload: 1 MiB is the most that the settings allow, its quotes and brackets included."""
MINUTE = 60.0
PART = 5_000
PER_TASK = 100
"""Signals for each task of that burst."""
CALLERS = 256
"""How many tasks are asked to cancel at one time."""
PROCESSED = "select count(*) from {task} where state = 'processed'"
CANCELLED = "select count(*) from {task} where state = 'cancelled'"
WAITING = "select count(*) from {task} where state = 'waiting'"
RUNNING = "select count(*) from {step} where state = 'running'"
TASKS = "select count(*) from {task}"
MINUTELY = "* * * * *"

Figures = dict[str, float]
Burst = Callable[[Client, LoopMeter, str, int], Coroutine[Any, Any, None]]
"""A client, the meter, the address of the store, and how much at once."""

bulk = Agent("bulk", concurrency=100_000)


@bulk.operation()
async def echo(text: str) -> str:
    return text


@bulk.operation()
async def never(n: int) -> int:
    await asyncio.Event().wait()
    return n


@workflow()
async def echoing(text: str) -> str:
    return await echo(text)


@workflow()
async def sleeping(at: float) -> None:
    await asyncio.sleep(at - now().timestamp())


@workflow()
async def parallel(count: int) -> int:
    return len(await asyncio.gather(*(act_of(n) for n in range(count))))


@bulk.operation()
async def act_of(n: int) -> int:
    return n


@workflow()
async def endless(count: int) -> int:
    return len(await asyncio.gather(*(never(n) for n in range(count))))


@workflow()
async def nothing() -> None:
    return None


async def loop_holds(
    place: Place,
    *,
    payloads: int = 64,
    timers: int = 30_000,
    births: int = 40_000,
    cancelled: int = 20_000,
    signals: int = 6_000,
    schedules: int = 1_000,
) -> Figures:
    """The longest hold for each kind of burst, and of those schedules the CPU of each firing."""
    figures: Figures = {}
    for name, burst, size in (
        ("payloads", _payloads, payloads),
        ("timers", _timers, timers),
        ("births", _births, births),
        ("cancelled_tasks", _cancelled_tasks, cancelled),
        ("cancelled_steps", _cancelled_steps, cancelled),
        ("signals", _signals, signals),
    ):
        figures |= await _held(place, name, burst, size)
    figures |= await _claimed(place, cancelled) | await _drained_calls(place, cancelled)
    return figures | (await _schedules(place, schedules) if schedules else {})


async def _held(place: Place, name: str, burst: Burst, size: int) -> Figures:
    address = await place.fresh()
    async with _process(address) as (meter, client):
        await burst(client, meter, address, size)
        return meter.figures(name)


@asynccontextmanager
async def _process(address: str, **roles: bool) -> AsyncIterator[tuple[LoopMeter, Client]]:
    app = App(
        "bench",
        workflows=[waiting, echoing, sleeping, parallel, endless, nothing],
        agents=[bulk],
        store=address,
        evict_after="never",
        hang_limit="never",
        drain="1s",
    )
    with loop_meter() as meter:
        async with app.running(**roles), app.client() as client:
            meter.reset()
            yield meter, client


async def _payloads(client: Client, meter: LoopMeter, address: str, count: int) -> None:
    texts = ["x" * LARGE_BYTES for _ in range(count)]
    await asyncio.sleep(0)
    meter.reset()

    async def one(n: int) -> None:
        await (await client.submit(echoing, texts[n])).result()

    await concurrently(count, count, one)


async def _timers(client: Client, meter: LoopMeter, address: str, count: int) -> None:
    """All due at one instant, which comes once all wait."""
    at = time.time() + 3 + count / 1_000
    for first in range(0, count, PART):
        await client.submit_many(sleeping, [(at,)] * min(PART, count - first))
    await until(address, WAITING, count)
    meter.reset()
    await until(address, PROCESSED, count)


async def _births(client: Client, meter: LoopMeter, address: str, count: int) -> None:
    await (await client.submit(parallel, count)).result()


async def _cancelled_tasks(client: Client, meter: LoopMeter, address: str, count: int) -> None:
    handles = []
    for first in range(0, count, PART):
        handles += await client.submit_many(waiting, [(n,) for n in range(min(PART, count - first))])
    await until(address, WAITING, count)

    async def cancel(n: int) -> None:
        await handles[n].cancel()

    meter.reset()
    await concurrently(CALLERS, count, cancel)
    await until(address, CANCELLED, count)


async def _cancelled_steps(client: Client, meter: LoopMeter, address: str, count: int) -> None:
    handle = await client.submit(endless, count)
    await until(address, RUNNING, count)
    meter.reset()
    await handle.cancel()
    await until(address, CANCELLED, 1)


async def _signals(client: Client, meter: LoopMeter, address: str, count: int) -> None:
    """One after the other in a loop; each task is given so many that wait in its inbox."""
    handles = await client.submit_many(waiting, [(n,) for n in range(-(-count // PER_TASK))])
    await until(address, WAITING, len(handles))
    meter.reset()
    for n in range(count):
        await handles[n % len(handles)].signal("other", n)


async def _claimed(place: Place, count: int) -> Figures:
    """Tasks that waited for a Scheduler, which claims them all."""
    address = await place.fresh()
    async with _process(address, scheduler=False, agents=False, supervisor=False) as (_, client):
        for first in range(0, count, PART):
            await client.submit_many(waiting, [(n,) for n in range(min(PART, count - first))])
    async with _process(address) as (meter, _):
        await until(address, WAITING, count)
        return meter.figures("claimed")


async def _drained_calls(place: Place, count: int) -> Figures:
    """The end of a process whose Agent has calls that do not end."""
    address = await place.fresh()
    async with _process(address) as (meter, client):
        await client.submit(endless, count)
        await until(address, RUNNING, count)
        meter.reset()
    return meter.figures("drained_calls")


async def _schedules(place: Place, count: int) -> Figures:
    """All due at the beginning of the next minute; the CPU is that of firing alone, as nothing runs the tasks."""
    address = await place.fresh()
    async with _process(address, scheduler=False, agents=False) as (meter, client):
        if MINUTE - time.time() % MINUTE < 10:
            await asyncio.sleep(10)
        for n in range(count):
            await client.create_schedule(f"schedule-{n}", nothing, cron=MINUTELY)
        await asyncio.sleep(MINUTE - time.time() % MINUTE - 0.1)
        meter.reset()
        used = time.process_time()
        await until(address, TASKS, count)
        cpu = (time.process_time() - used) / count
        return {**meter.figures("schedules"), "schedule_cpu_ms": cpu * MILLISECONDS}
