"""Several processes on one store: what a second Scheduler costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.application import make_app, ten, two
from benchmarks.loads import AT_ONCE, STEPS, median, ratio
from benchmarks.measures.draining import PROCESSED
from benchmarks.store_locations import Place
from benchmarks.store_queries import once, until
from benchmarks.workers import Worker, workers

ROUNDS = 5
TASKS = 2_560
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
