"""One-step tasks submitted while no Scheduler runs, and then drained."""

from __future__ import annotations

from benchmarks.application import make_app, one
from benchmarks.loads import median
from benchmarks.store_locations import Place
from benchmarks.store_queries import once, until

TASKS = 10_000
ROUNDS = 3
PROCESSED = "select count(*) from {task} where state = 'processed'"
TOOK = "select max(finished_at) - min(started_at) from {task} where workflow = 'one'"
"""From the first that was claimed to the last that ended: starting a process is not counted."""

Figures = dict[str, float]


async def draining(place: Place, *, tasks: int = TASKS, rounds: int = ROUNDS) -> Figures:
    """Tasks a second."""
    return {"tasks_per_s": median([tasks / await _drained(await place.fresh(), tasks) for _ in range(rounds)])}


async def _drained(address: str, tasks: int) -> float:
    app = make_app(address)
    async with app.client() as client:
        await client.submit_many(one, [(f"order {n}",) for n in range(tasks)])
    async with app.running():
        await until(address, PROCESSED, tasks)
    (seconds,) = await once(address, TOOK)
    return float(seconds)
