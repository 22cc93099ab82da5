"""What is measured, one function each; every one runs in a fresh process on a fresh store."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from benchmarks import floor, queues
from benchmarks.application import make_app, ten, waiting
from benchmarks.clicking import clicking
from benchmarks.looking import until
from benchmarks.takeover import takeover
from stepward import App, Client
from stepward.clock import Environment
from stepward.store.sqlite.store import SqliteStore

Figures = dict[str, float]
AT_ONCE = 128
TASKS = 2_560
ALONE = 200
WAITING = 100_000
IDLE_SECONDS = 10.0


async def throughput(folder: Path) -> Figures:
    """Ten-step tasks, 128 in flight, beside the raw limit: rounds in turn, because the machine drifts."""
    raw = await floor.open_floor(folder / "floor.db")
    app = make_app(folder / "bench.db")
    limits, rates, cpu = [], [], []
    async with app.running(), app.client() as client:
        await run_ten_steps(client, 512)
        for _ in range(5):
            limits.append(floor.ten_step_tasks(raw, TASKS, AT_ONCE))
            began, used = time.perf_counter(), time.process_time()
            await run_ten_steps(client, TASKS)
            rates.append(TASKS * 10 / (time.perf_counter() - began))
            cpu.append((time.process_time() - used) / TASKS / 10 * 1e6)
    shares = [rate / limit for rate, limit in zip(rates, limits, strict=True)]
    return {
        "raw_limit_steps_per_s": median(limits),
        "steps_per_s": median(rates),
        "share_of_raw_limit": median(shares),
        "cpu_us_per_step": median(cpu),
    }


async def latency(folder: Path) -> Figures:
    """One ten-step task at a time, beside the floor: eleven commits and nothing else."""
    raw = await floor.open_floor(folder / "floor.db")
    app = make_app(folder / "bench.db")
    floors, own = [], []
    async with app.running(), app.client() as client:
        await alone(client, 50)
        for _ in range(5):
            floors.append(floor.one_task(raw, ALONE))
            own.append(await alone(client, ALONE))
    ratios = [mine / bare for mine, bare in zip(own, floors, strict=True)]
    return {
        "floor_ms": median(floors) * 1e3,
        "ten_steps_alone_ms": median(own) * 1e3,
        "times_floor": median(ratios),
        "commits_per_step_alone": await commits_per_step(folder / "counted.db"),
    }


async def memory_resident(folder: Path) -> Figures:
    """100,000 tasks that wait for a signal, kept in memory."""
    return await _waiting(make_app(folder / "bench.db", evict_after="never"), kept=True)


async def memory_evicted(folder: Path) -> Figures:
    """The same, let go from memory."""
    return await _waiting(make_app(folder / "bench.db", evict_after=0), kept=False)


async def submission(folder: Path) -> Figures:
    """``submit_many`` of 10,000, and 16 clients that submit one by one, durable each."""
    app = make_app(folder / "bench.db")
    async with app.client() as client:
        began = time.perf_counter()
        await client.submit_many(ten, [(f"order {n}",) for n in range(10_000)])
        many = time.perf_counter() - began
    began = time.perf_counter()
    async with app.running(agents=False), app.client() as client:
        began = time.perf_counter()
        await _concurrently(16, 4_000, lambda n: client.submit(waiting, n))
        single = time.perf_counter() - began
    return {"submit_many_10000_s": many, "submissions_per_s": 4_000 / single}


async def idle(folder: Path) -> Figures:
    """Statements a second of a process that has nothing to do."""
    app = make_app(folder / "bench.db")
    async with app.running() as running:
        store = store_of(running.store)
        await asyncio.sleep(2)
        before, used = store.statements, time.process_time()
        await asyncio.sleep(IDLE_SECONDS)
        statements = (store.statements - before) / IDLE_SECONDS
        return {"statements_per_s": statements, "cpu_percent": (time.process_time() - used) / IDLE_SECONDS * 100}


async def growth(folder: Path) -> Figures:
    """CPU per step with more and more finished tasks in the store, each with its steps."""
    path = folder / "bench.db"
    raw = await floor.open_floor(path, app="bench")
    figures: Figures = {}
    finished = 0
    for size in (1_000, 10_000, 100_000, 1_000_000):
        floor.finished_tasks(raw, size - finished)
        finished = size
        app = make_app(path, retention="never")
        async with app.running(), app.client() as client:
            await run_ten_steps(client, 512)
            rounds = []
            for _ in range(5):
                used = time.process_time()
                await run_ten_steps(client, 1_280)
                rounds.append((time.process_time() - used) / 1_280 / 10 * 1e6)
            # The least disturbed round: other loads on the machine only ever add to it.
            figures[f"cpu_us_per_step_at_{size}"] = min(rounds)
    few = figures["cpu_us_per_step_at_1000"]
    figures["million_times_thousand"] = figures["cpu_us_per_step_at_1000000"] / few
    return figures


MEASURES: dict[str, Callable[[Path], Coroutine[Any, Any, Figures]]] = {
    "throughput": throughput,
    "latency": latency,
    "submission": submission,
    "accepting": queues.accepting,
    "telling": queues.telling,
    "clicking": clicking,
    "idle": idle,
    "memory, resident": memory_resident,
    "memory, evicted": memory_evicted,
    "takeover": takeover,
    "growth": growth,
}


async def run_ten_steps(client: Client, tasks: int) -> None:
    """That many ten-step tasks, 128 of them in flight."""

    async def one(n: int) -> None:
        handle = await client.submit(ten, f"order {n}")
        await handle.result()

    await _concurrently(AT_ONCE, tasks, one)


async def alone(client: Client, repeats: int) -> float:
    """Median seconds of one ten-step task, from submission to its result."""
    seconds = []
    for n in range(repeats):
        began = time.perf_counter()
        await (await client.submit(ten, f"order {n}")).result()
        seconds.append(time.perf_counter() - began)
    return median(seconds)


async def commits_per_step(path: Path) -> float:
    """Commits that one task alone costs, for each of its ten steps."""
    commits = 0

    def count(failpoint: str) -> None:
        nonlocal commits
        commits += failpoint == "store.commit.after"

    app = make_app(path, environment=Environment(failpoint=count))
    async with app.running(supervisor=False), app.client() as client:
        await alone(client, 5)
        before = commits
        await alone(client, 20)
        return (commits - before) / 200


def store_of(store: object) -> SqliteStore:
    """The store, as the SQLite one that counts its statements."""
    assert isinstance(store, SqliteStore)
    return store


def resident_mib() -> float:
    """The memory of this process that is in RAM, in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def median(values: list[float]) -> float:
    """The middle one."""
    return sorted(values)[len(values) // 2]


async def _waiting(app: App, *, kept: bool) -> Figures:
    before = resident_mib()
    async with app.running() as running, app.client() as client:
        for start in range(0, WAITING, 10_000):
            await client.submit_many(waiting, [(n,) for n in range(start, start + 10_000)])
        scheduler = running.host.scheduler
        assert scheduler is not None
        held = "not null" if kept else "null"
        query = f"select count(*) from stepward_task where state = 'waiting' and locked_by is {held}"
        await until(Path(app.settings.store.removeprefix("sqlite:///")), query, WAITING)
        mib = resident_mib()
        return {"tasks": float(WAITING), "rss_mib": mib, "rss_before_mib": before, "held": float(scheduler.held)}


async def _concurrently(at_once: int, count: int, work: Callable[[int], Coroutine[Any, Any, Any]]) -> None:
    numbers = iter(range(count))

    async def worker() -> None:
        for n in numbers:
            await work(n)

    await asyncio.gather(*(worker() for _ in range(at_once)))
