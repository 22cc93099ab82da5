"""``kill -9`` with 10,000 half-done tasks: how long until each has a new owner and its next outcome committed."""

from __future__ import annotations

import time

from benchmarks.application import half, make_app
from benchmarks.measures.draining import PROCESSED
from benchmarks.store_locations import Place
from benchmarks.store_queries import until
from benchmarks.workers import worker, workers

TASKS = 10_000
LEASE = 10.0
HALF_DONE = "select count(*) from {step} where name = 'svc.act' and state = 'completed'"
"""The second step of some runs then, that of the others waits for room."""

Figures = dict[str, float]


async def takeover(place: Place, *, tasks: int = TASKS, heirs: int = 1, lease: float = LEASE) -> Figures:
    """The seconds from the kill to the last outcome; the one who is killed held every task, its heirs none."""
    address = await place.fresh()
    settings = {"tasks_in_flight": 2 * tasks, "lease": lease}
    async with worker(address, settings=settings, hold=True) as victim, make_app(address).client() as client:
        await client.submit_many(half, [(n,) for n in range(tasks)])
        await until(address, HALF_DONE, tasks)
        async with workers(address, heirs, settings):
            await victim.kill()
            killed_at = time.perf_counter()
            await until(address, PROCESSED, tasks)
            seconds = time.perf_counter() - killed_at
    return {"tasks": tasks, "lease_s": lease, "all_moved_on_after_s": seconds, "beyond_lease_s": seconds - lease}


async def takeover_of_one_of_four(place: Place, *, tasks: int = TASKS, lease: float = LEASE) -> Figures:
    """The same with three heirs."""
    return await takeover(place, tasks=tasks, heirs=3, lease=lease)
