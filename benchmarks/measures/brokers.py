"""A Scheduler process and an Agent process with queues between them: in the store, over NATS, RabbitMQ and AMQP 1.0."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from benchmarks.application import make_app, one, ten, two
from benchmarks.loads import STEPS, median
from benchmarks.measures.draining import PROCESSED
from benchmarks.store_locations import Place
from benchmarks.store_queries import once, until
from benchmarks.workers import worker
from servers import activemq, nats, rabbitmq
from stepward import Client
from stepward.client import session_of

SCHEDULER = {"agents": False, "submission": False}
AGENTS = {"scheduler": False, "supervisor": False, "submission": False}
IN_FLIGHT = 512
ROUNDS = 5
TASKS = 5_120
ALONE = 200
WARM = 20
LAST = "select max(finished_at) - min(started_at) from {{task}} where workflow = 'ten' and created_at >= {since!r}"
MICROSECONDS = 1e6
MILLISECONDS = 1e3

Figures = dict[str, float]
BenchQueues = Callable[[], AbstractContextManager[str]]


@contextmanager
def in_the_store() -> Iterator[str]:
    """The state store's own."""
    yield "store"


@contextmanager
def over_nats() -> Iterator[str]:
    """A server of its own."""
    with nats.running() as node:
        yield node.address


@contextmanager
def over_rabbitmq() -> Iterator[str]:
    """A server of its own."""
    with rabbitmq.running() as server:
        yield server.address


@contextmanager
def over_amqp10() -> Iterator[str]:
    """A RabbitMQ server of its own, which speaks AMQP 1.0."""
    with rabbitmq.running(plugins=(rabbitmq.AMQP10,)) as server:
        yield server.address.replace("amqp://", "amqp10://")


@contextmanager
def over_activemq() -> Iterator[str]:
    """An ActiveMQ server of its own, from the folder that the environment names."""
    programs = activemq.distribution()
    if programs is None:
        raise RuntimeError(f"benchmarks: expected ActiveMQ with AMQP in the folder {activemq.VARIABLE}, found none")
    with activemq.running(programs) as server:
        yield server.address


async def transport(
    place: Place, *, queues: BenchQueues, rounds: int = ROUNDS, tasks: int = TASKS, alone: int = ALONE
) -> Figures:
    """Ten-step tasks, 512 in flight, and one step alone beside one without any process between."""
    with queues() as between:
        rates, own, theirs = [], [], []
        address = await place.fresh()
        settings = {"transport": between, "tasks_in_flight": IN_FLIGHT}
        async with (
            worker(address, SCHEDULER, settings) as scheduler,
            worker(address, AGENTS, settings) as agents,
            make_app(address).client() as client,
        ):
            done = tasks // 5
            await client.submit_many(two, [(f"order {n}",) for n in range(done)])
            await until(address, PROCESSED, done)
            for _ in range(rounds):
                used = scheduler.cpu_seconds, agents.cpu_seconds
                began = session_of(client).store.now()
                await client.submit_many(ten, [(f"order {n}",) for n in range(tasks)])
                done += tasks
                await until(address, PROCESSED, done)
                own.append(scheduler.cpu_seconds - used[0])
                theirs.append(agents.cpu_seconds - used[1])
                (seconds,) = await once(address, LAST.format(since=began))
                rates.append(tasks * STEPS / float(seconds))
        # That is another store: at a broker another prefix keeps it apart.
        beside_it = between if between == "store" else f"{between}?prefix=alone"
        apart = await _alone(place, {"transport": beside_it}, alone)
    beside = await _alone(place, {}, alone)
    return {
        "steps_per_s": median(rates),
        "scheduler_cpu_us_per_step": median(own) / tasks / STEPS * MICROSECONDS,
        "agents_cpu_us_per_step": median(theirs) / tasks / STEPS * MICROSECONDS,
        "one_step_alone_ms": apart * MILLISECONDS,
        "beyond_local_ms": (apart - beside) * MILLISECONDS,
    }


async def _alone(place: Place, settings: dict[str, str], repeats: int) -> float:
    """Median seconds of a task of one step, whose Agent is in another process if there is a queue between."""
    address = await place.fresh()
    app = make_app(address, **settings)
    async with app.running(agents=not settings), app.client() as client:
        if settings:
            async with worker(address, AGENTS, settings):
                return await _one_by_one(client, repeats)
        return await _one_by_one(client, repeats)


async def _one_by_one(client: Client, repeats: int) -> float:
    seconds = []
    for n in range(repeats + WARM):
        began = time.perf_counter()
        await (await client.submit(one, f"order {n}")).result()
        seconds.append(time.perf_counter() - began)
    return median(seconds[WARM:])
