"""``python -m benchmarks.comparison.sweeps SWEEP SIZE``: one size of what is varied for Stepward, as a JSON line.

Each size runs in a process of its own, so that none inherits the memory or the store of another.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.application import make_app, ten
from benchmarks.comparison.peer_servers import POSTGRES_SETTINGS
from benchmarks.floor import floor
from benchmarks.measures import brokers
from benchmarks.measures.draining import PROCESSED
from benchmarks.measures.memory import resident_mib
from benchmarks.measures.one_process import least_cpu
from benchmarks.measures.processes import moved_by
from benchmarks.store_locations import Place, PostgresBench, SqlitePlace
from benchmarks.store_queries import once, until
from servers import postgres
from stepward.client import session_of
from stepward.host import tune_process

STEPS = 10
GROWTH_ROUNDS, GROWTH_TASKS = 3, 640
FLIGHT_TASKS, MOST_AT_ONCE = 2_000, 10_000
MOVED_TASKS = 1_280
TRANSPORT_ROUNDS, TRANSPORT_TASKS, TRANSPORT_ALONE = 2, 1_280, 60
MICROSECONDS = 1e6

Figures = dict[str, float]
QUEUES = {
    "store": brokers.in_the_store,
    "NATS": brokers.over_nats,
    "RabbitMQ": brokers.over_rabbitmq,
    "AMQP 1.0": brokers.over_amqp10,
}


class Sweep(NamedTuple):
    """A size that is varied on one store; sizes in ``long`` take minutes, and run with ``--long`` alone."""

    store: str
    sizes: tuple[str, ...]
    long: tuple[str, ...]
    measure: Callable[[Place, str], Coroutine[Any, Any, Figures]]


async def stored(place: Place, size: str) -> Figures:
    """CPU of a step beside that many ended tasks."""
    address = await place.fresh()
    async with floor(address, app="bench") as raw:
        await raw.finished_tasks(int(size))
    return {"cpu_us_per_step": await least_cpu(place, address, rounds=GROWTH_ROUNDS, tasks=GROWTH_TASKS)}


async def in_flight(place: Place, size: str) -> Figures:
    """Ten-step tasks that are all submitted at once and all advance at once; of few tasks, several waves."""
    tasks = int(size)
    waves, seconds = max(1, FLIGHT_TASKS // tasks), 0.0
    app = make_app(await place.fresh(), tasks_in_flight=2 * tasks)
    async with app.running(), app.client() as client:
        used = time.process_time() + place.server_seconds()
        for wave in range(waves):
            began = session_of(client).store.now()
            for first in range(0, tasks, MOST_AT_ONCE):
                await client.submit_many(ten, [(f"order {n}",) for n in range(first, min(tasks, first + MOST_AT_ONCE))])
            await until(app.settings.store, PROCESSED, (wave + 1) * tasks)
            (took,) = await once(app.settings.store, brokers.LAST.format(since=began))
            seconds += float(took)
        steps, cpu = waves * tasks * STEPS, time.process_time() + place.server_seconds() - used
    return {
        "steps_per_s": steps / seconds,
        "cpu_us_per_step": cpu / steps * MICROSECONDS,
        "rss_mib": resident_mib(),
    }


async def processes(place: Place, size: str) -> Figures:
    """A pile of ten-step tasks that so many processes move, each with all actors."""
    pile = await moved_by(place, int(size), MOVED_TASKS)
    return pile._asdict()


async def transports(place: Place, size: str) -> Figures:
    """A Scheduler process and an Agent process with that transport's queues between."""
    queues = QUEUES[size]
    return await brokers.transport(
        place, queues=queues, rounds=TRANSPORT_ROUNDS, tasks=TRANSPORT_TASKS, alone=TRANSPORT_ALONE
    )


STORED = ("1000", "10000", "100000", "1000000")
FLIGHT = ("100", "1000", "10000")
SWEEPS = {
    "stored-sqlite": Sweep("sqlite", STORED, ("10000000",), stored),
    "stored-postgresql": Sweep("postgresql", STORED, ("10000000",), stored),
    "processes-postgresql": Sweep("postgresql", ("1", "2", "4"), (), processes),
    "transports-postgresql": Sweep("postgresql", tuple(QUEUES), (), transports),
    "flight-postgresql": Sweep("postgresql", FLIGHT, ("100000",), in_flight),
    "flight-sqlite": Sweep("sqlite", (*FLIGHT, "100000"), (), in_flight),
}
"""In the order of a run; the longest one comes last."""


@contextmanager
def _place(store: str) -> Iterator[Place]:
    with tempfile.TemporaryDirectory(prefix="stepward-bench-", ignore_cleanup_errors=True) as name:
        if store == "sqlite":
            yield SqlitePlace(Path(name))
            return
        with postgres.running(settings=POSTGRES_SETTINGS) as server:
            yield PostgresBench(server, Path(name))


def main(name: str, size: str) -> None:
    """Measure one size."""
    tune_process()
    sweep = SWEEPS[name]
    with _place(sweep.store) as place:
        print(json.dumps(asyncio.run(sweep.measure(place, size))))


if __name__ == "__main__":
    main(*sys.argv[1:])
