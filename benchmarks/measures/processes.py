"""Several processes: what a second Scheduler on one store costs, and what a second store gives."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import NamedTuple

from benchmarks.application import make_app, ten, two
from benchmarks.loads import AT_ONCE, STEPS, median, ratio
from benchmarks.measures.draining import PROCESSED
from benchmarks.store_locations import Place
from benchmarks.store_queries import once, until
from benchmarks.workers import Worker, WorkerSettings, worker, workers
from stepward.store.partitions.placement import partition_name

ROUNDS = 5
TASKS = 2_560
DELAY = "5s"
SPAN = "select min(started_at), max(finished_at) from {task} where workflow = 'ten'"
COUNT = "select count(*) from {task} where workflow = 'ten'"
TOOK = "select max(finished_at) - min(started_at) from {task} where workflow = 'ten'"
MICROSECONDS = 1e6

Figures = dict[str, float]


class Pile(NamedTuple):
    """What processes that moved a pile of ten-step tasks have reached."""

    steps_per_s: float
    cpu_us_per_step: float
    """Of the processes and the server; making the pile is the same for all, and counted with it."""


async def two_schedulers(place: Place, *, rounds: int = ROUNDS, tasks: int = TASKS) -> Figures:
    """A pile that is moved by one process and by two, each with 128 in flight; rounds in turn."""
    alone, together = [], []
    for _ in range(rounds):
        alone.append(await moved_by(place, 1, tasks))
        together.append(await moved_by(place, 2, tasks))
    return {
        "one_steps_per_s": median([pile.steps_per_s for pile in alone]),
        "two_steps_per_s": median([pile.steps_per_s for pile in together]),
        "two_to_one_steps": ratio([pile.steps_per_s for pile in together], [pile.steps_per_s for pile in alone]),
        "one_cpu_us_per_step": median([pile.cpu_us_per_step for pile in alone]),
        "two_cpu_us_per_step": median([pile.cpu_us_per_step for pile in together]),
        "two_to_one_cpu": ratio([pile.cpu_us_per_step for pile in together], [pile.cpu_us_per_step for pile in alone]),
    }


async def moved_by(place: Place, count: int, tasks: int) -> Pile:
    """A pile that so many processes move."""
    address = await place.fresh()
    async with workers(address, count, {"tasks_in_flight": AT_ONCE}) as crew:
        return await _moved(place, address, crew, tasks)


async def _moved(place: Place, address: str, crew: Sequence[Worker], tasks: int) -> Pile:
    def used() -> float:
        return sum(each.cpu_seconds for each in crew) + place.server_seconds()

    warm = tasks // 5
    async with make_app(address).client() as client:
        await client.submit_many(two, [(f"order {n}",) for n in range(warm)])
        await until(address, PROCESSED, warm)
        before = used()
        await client.submit_many(ten, [(f"order {n}",) for n in range(tasks)])
        await until(address, PROCESSED, warm + tasks)
        cpu = used() - before
    (seconds,) = await once(address, TOOK)
    return Pile(tasks * STEPS / float(seconds), cpu / tasks / STEPS * MICROSECONDS)


async def two_partitions(place: Place, *, rounds: int = ROUNDS, tasks: int = TASKS) -> Figures:
    """Steps a second of one store with one process, of one store with two, and of two with one each; in turn."""
    one, shared, apart = [], [], []
    for _ in range(rounds):
        one.append(await _drained([await place.fresh()], [{}], tasks))
        shared.append(await _drained([await place.fresh()], [{}, {}], tasks))
        served: list[WorkerSettings] = [{"partitions": [partition_name(number)]} for number in (1, 2)]
        apart.append(await _drained([await place.fresh(), await place.fresh()], served, tasks))
    return {
        "one_store_steps_per_s": median(one),
        "one_store_two_processes_steps_per_s": median(shared),
        "two_stores_steps_per_s": median(apart),
        "two_stores_to_one": ratio(apart, one),
        "two_stores_to_one_with_two_processes": ratio(apart, shared),
    }


async def _drained(stores: Sequence[str], processes: Sequence[WorkerSettings], tasks: int) -> float:
    """Steps a second, from the first task that is claimed to the last that ends in any of the stores.

    All tasks are due at one time, when every process is at work and every task is submitted.
    """
    address = " ".join(stores)
    async with AsyncExitStack() as stack:
        for roles in processes:
            await stack.enter_async_context(worker(address, roles, {"tasks_in_flight": AT_ONCE}))
        async with make_app(address).client() as client:
            await client.submit_many(ten, [(f"order {n}",) for n in range(tasks)], delay=DELAY)
        counts = [(await once(store, COUNT))[0] for store in stores]
        for store, count in zip(stores, counts, strict=True):
            await until(store, PROCESSED, count)
    spans = [await once(store, SPAN) for store in stores]
    seconds = max(ended for _, ended in spans) - min(began for began, _ in spans)
    return tasks * STEPS / float(seconds)
