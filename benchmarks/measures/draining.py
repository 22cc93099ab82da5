"""One-step tasks submitted while no Scheduler runs, and then drained; beside a peer's queue."""

from __future__ import annotations

from benchmarks.application import make_app, one
from benchmarks.loads import median, ratio
from benchmarks.store_locations import Place
from benchmarks.store_queries import once, until

TASKS = 10_000
ROUNDS = 3
PROCESSED = "select count(*) from {task} where state = 'processed'"
TOOK = "select max(finished_at) - min(started_at) from {task} where workflow = 'one'"
"""From the first that was claimed to the last that ended: starting a process is not counted, here or there."""

Figures = dict[str, float]


async def draining(place: Place, *, tasks: int = TASKS, rounds: int = ROUNDS) -> Figures:
    """Tasks a second; rounds in turn."""
    rates, theirs = [], []
    async with place.peer() as peer:
        for _ in range(rounds):
            rates.append(tasks / await _drained(await place.fresh(), tasks))
            if peer is not None:
                theirs.append(await peer.queued_tasks(tasks))
    return {
        "tasks_per_s": median(rates),
        **({"dbos_tasks_per_s": median(theirs), "times_dbos": ratio(rates, theirs)} if theirs else {}),
    }


async def _drained(address: str, tasks: int) -> float:
    app = make_app(address)
    async with app.client() as client:
        await client.submit_many(one, [(f"order {n}",) for n in range(tasks)])
    async with app.running():
        await until(address, PROCESSED, tasks)
    (seconds,) = await once(address, TOOK)
    return float(seconds)
