"""What one process reaches: throughput, latency, submissions, rest, and all that with a long history."""

from __future__ import annotations

import asyncio
import time

from benchmarks.application import make_app, ten, waiting
from benchmarks.floor import floor
from benchmarks.loads import AT_ONCE, STEPS, alone, concurrently, median, ratio, run_ten_steps
from benchmarks.store_locations import Place
from stepward.clock import Environment
from stepward.store.postgres.store import PostgresStore
from stepward.store.sqlite.store import SqliteStore

Figures = dict[str, float]
ROUNDS = 5
TASKS = 2_560
ALONE = 200
SUBMITTED = 10_000
SINGLE = 4_000
CLIENTS = 16
MANY_CALLERS = 128
ALONE = 1_000
IDLE_SECONDS = 10.0
HISTORIES = (1_000, 10_000, 100_000, 1_000_000)
MICROSECONDS = 1e6
MILLISECONDS = 1e3


async def throughput(place: Place, *, rounds: int = ROUNDS, tasks: int = TASKS) -> Figures:
    """Ten-step tasks, 128 in flight, beside the raw limit: rounds in turn, because the machine drifts."""
    app = make_app(await place.fresh())
    limits, rates, cpu = [], [], []
    async with floor(await place.fresh()) as raw, app.running(), app.client() as client:
        await run_ten_steps(client, tasks // 5)
        for _ in range(rounds):
            limits.append(await raw.ten_step_tasks(tasks, AT_ONCE))
            used = time.process_time(), place.server_seconds()
            rates.append(tasks * STEPS / await run_ten_steps(client, tasks))
            cpu.append((time.process_time() - used[0], place.server_seconds() - used[1]))
    own, served = (median(seconds) / tasks / STEPS * MICROSECONDS for seconds in zip(*cpu, strict=True))
    return {
        "raw_limit_steps_per_s": median(limits),
        "steps_per_s": median(rates),
        "share_of_raw_limit": ratio(rates, limits),
        "cpu_us_per_step": own,
        **({"server_cpu_us_per_step": served} if served else {}),
    }


async def latency(place: Place, *, rounds: int = ROUNDS, repeats: int = ALONE) -> Figures:
    """One ten-step task at a time, beside the floor, which is eleven commits and nothing else."""
    app = make_app(await place.fresh())
    floors, own = [], []
    async with floor(await place.fresh()) as raw, app.running(), app.client() as client:
        await alone(client, repeats // 4)
        for _ in range(rounds):
            floors.append(await raw.one_task(repeats))
            own.append(await alone(client, repeats))
    return {
        "floor_ms": median(floors) * MILLISECONDS,
        "ten_steps_alone_ms": median(own) * MILLISECONDS,
        "times_floor": ratio(own, floors),
        "commits_per_step_alone": await commits_per_step(await place.fresh()),
    }


async def submission(place: Place, *, many: int = SUBMITTED, single: int = SINGLE) -> Figures:
    """``submit_many`` of 10,000; submissions one by one, durable each: from 128 and from one at once by a client in a
    process without a Scheduler, and from 16 at once beside a Scheduler."""
    app = make_app(await place.fresh())
    async with app.client() as client:
        began = time.perf_counter()
        await client.submit_many(ten, [(f"order {n}",) for n in range(many)])
        seconds = time.perf_counter() - began
        apart = single / await concurrently(MANY_CALLERS, single, lambda n: client.submit(ten, str(n)))
        alone = ALONE / await concurrently(1, ALONE, lambda n: client.submit(ten, str(n)))
    async with app.running(agents=False), app.client() as client:
        rate = single / await concurrently(CLIENTS, single, lambda n: client.submit(waiting, n))
    return {
        "submit_many_10000_s": seconds,
        "submissions_per_s": rate,
        "from_128_callers_per_s": apart,
        "from_one_caller_per_s": alone,
    }


async def idle(place: Place, *, seconds: float = IDLE_SECONDS) -> Figures:
    """Statements a second of a process that has nothing to do, and the CPU that it and a server use."""
    app = make_app(await place.fresh())
    async with app.running() as running:
        store = running.store
        assert isinstance(store, SqliteStore | PostgresStore)
        await asyncio.sleep(seconds / 5)
        before, used, served = store.statements, time.process_time(), place.server_seconds()
        await asyncio.sleep(seconds)
        return {
            "statements_per_s": (store.statements - before) / seconds,
            "cpu_percent": (time.process_time() - used) / seconds * 100,
            "server_cpu_percent": (place.server_seconds() - served) / seconds * 100,
        }


async def growth(
    place: Place, *, histories: tuple[int, ...] = HISTORIES, rounds: int = ROUNDS, tasks: int = TASKS // 2
) -> Figures:
    """CPU per step, a server's included, with more and more finished tasks in the store, each with its steps."""
    address = await place.fresh()
    figures: Figures = {}
    finished = 0
    for size in histories:
        async with floor(address, app="bench") as raw:
            await raw.finished_tasks(size - finished)
        finished = size
        figures[f"cpu_us_per_step_at_{size}"] = await least_cpu(place, address, rounds=rounds, tasks=tasks)
    least, *_, most = figures.values()
    return {**figures, "million_times_thousand": most / least}


async def least_cpu(place: Place, address: str, *, rounds: int, tasks: int) -> float:
    """Microseconds of CPU of a step, a server's included, in the least disturbed round: other loads only add to it."""
    app = make_app(address, retention="never")
    used = []
    async with app.running(), app.client() as client:
        await run_ten_steps(client, tasks // 2)
        for _ in range(rounds):
            before = time.process_time() + place.server_seconds()
            await run_ten_steps(client, tasks)
            used.append(time.process_time() + place.server_seconds() - before)
    return min(used) / tasks / STEPS * MICROSECONDS


async def commits_per_step(address: str, repeats: int = 20) -> float:
    """Commits that one task alone costs, for each of its ten steps."""
    commits = 0

    def count(failpoint: str) -> None:
        nonlocal commits
        commits += failpoint == "store.commit.after"

    app = make_app(address, environment=Environment(failpoint=count))
    async with app.running(supervisor=False), app.client() as client:
        await alone(client, repeats // 4)
        before = commits
        await alone(client, repeats)
        return (commits - before) / repeats / STEPS
