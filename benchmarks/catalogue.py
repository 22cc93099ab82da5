"""For each store: what is measured on it, what should be reached, and where a measure's stores stand."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.measures import brokers, memory, one_process, postgres_costs, processes, queues
from benchmarks.measures.browser_latency import clicking
from benchmarks.measures.bursts.loop_holds import loop_holds
from benchmarks.measures.bursts.supervisor_rates import supervisor_rates
from benchmarks.measures.development import development
from benchmarks.measures.draining import draining
from benchmarks.measures.encryption import encryption
from benchmarks.measures.limits_per_key import limits_per_key
from benchmarks.measures.safeguards import safeguards
from benchmarks.measures.supervisor_passes import supervising
from benchmarks.measures.takeover import takeover, takeover_of_one_of_four
from benchmarks.report import Target, Targets
from benchmarks.store_locations import Place, PostgresBench, SqlitePlace
from servers import activemq
from servers.postgres import running

Measure = Callable[[Place], Coroutine[Any, Any, dict[str, float]]]

POSTGRES = {
    "shared_buffers": "256MB",
    "max_connections": "200",
    # A checkpoint in the middle of a round would distort that round.
    "max_wal_size": "8GB",
    "checkpoint_timeout": "1h",
}
"""What differs from the defaults, for all that is measured there; commits are as durable as ever."""


class Catalogue(NamedTuple):
    """What belongs to one store."""

    title: str
    results: Path
    measures: Mapping[str, Measure]
    targets: Targets
    place: Callable[[Path], AbstractContextManager[Place]]


@contextmanager
def _files(folder: Path) -> Iterator[Place]:
    yield SqlitePlace(folder)


@contextmanager
def _server(folder: Path) -> Iterator[Place]:
    with running(settings=POSTGRES) as server:
        yield PostgresBench(server, folder)


OVER_ACTIVEMQ: Mapping[str, Measure] = (
    {"transport, ActiveMQ": partial(brokers.transport, queues=brokers.over_activemq)} if activemq.distribution() else {}
)
"""Measured where there is an ActiveMQ with AMQP: no package has it."""

SQLITE = Catalogue(
    "Stepward on SQLite, synchronous=FULL, one process",
    Path("build/bench.json"),
    {
        "throughput": one_process.throughput,
        "latency": one_process.latency,
        "submission": one_process.submission,
        "accepting": queues.accepting,
        "telling": queues.telling,
        "clicking": clicking,
        "idle": one_process.idle,
        "memory, resident": memory.active,
        "memory, evicted": memory.evicted,
        "memory, million": memory.million,
        "takeover": takeover,
        "transport, store": partial(brokers.transport, queues=brokers.in_the_store),
        "transport, NATS": partial(brokers.transport, queues=brokers.over_nats),
        "transport, RabbitMQ": partial(brokers.transport, queues=brokers.over_rabbitmq),
        "transport, AMQP 1.0": partial(brokers.transport, queues=brokers.over_amqp10),
        **OVER_ACTIVEMQ,
        "growth": one_process.growth,
        "encryption": encryption,
        "development": development,
        "two partitions": processes.two_partitions,
        "limits per key": limits_per_key,
        "loop holds": loop_holds,
        "supervisor rates": supervisor_rates,
    },
    {
        ("throughput", "steps_per_s"): Target(15_000, at_most=False),
        ("throughput", "share_of_raw_limit"): Target(0.12, at_most=False),
        ("latency", "times_floor"): Target(3.0, at_most=True),
        ("latency", "commits_per_step_alone"): Target(1.25, at_most=True),
        ("submission", "submit_many_10000_s"): Target(1.0, at_most=True),
        ("accepting", "orders_per_s"): Target(2_000, at_most=False),
        ("telling", "telling_to_silent"): Target(0.7, at_most=False),
        ("clicking", "click_to_status_p95_ms"): Target(150, at_most=True),
        ("idle", "statements_per_s"): Target(5.0, at_most=True),
        ("memory, resident", "rss_mib"): Target(1024, at_most=True),
        ("memory, evicted", "rss_mib"): Target(150, at_most=True),
        ("memory, million", "busy_mib"): Target(1024, at_most=True),
        ("takeover", "beyond_lease_s"): Target(5.0, at_most=True),
        ("growth", "million_times_thousand"): Target(1.2, at_most=True),
        ("encryption", "local_cpu"): Target(1.15, at_most=True),
        ("encryption", "store_cpu"): Target(1.15, at_most=True),
        ("development", "user_test_ms"): Target(20, at_most=True),
        ("development", "replay_1000_histories_s"): Target(2.0, at_most=True),
        ("development", "stream_values_per_s"): Target(5_000, at_most=False),
        ("two partitions", "two_stores_to_one"): Target(1.7, at_most=False),
        ("limits per key", "capped_throughput"): Target(0.9, at_most=False),
    },
    _files,
)

POSTGRESQL = Catalogue(
    "Stepward on PostgreSQL, fsync and synchronous_commit on",
    Path("build/bench-postgresql.json"),
    {
        "throughput": one_process.throughput,
        "draining": draining,
        "latency": one_process.latency,
        "costs": postgres_costs.costs,
        "two schedulers": processes.two_schedulers,
        "transport, store": partial(brokers.transport, queues=brokers.in_the_store),
        "transport, NATS": partial(brokers.transport, queues=brokers.over_nats),
        "transport, RabbitMQ": partial(brokers.transport, queues=brokers.over_rabbitmq),
        "transport, AMQP 1.0": partial(brokers.transport, queues=brokers.over_amqp10),
        **OVER_ACTIVEMQ,
        "safeguards": safeguards,
        "limits per key": limits_per_key,
        "supervising": supervising,
        "takeover": takeover_of_one_of_four,
        "submission": one_process.submission,
        "accepting": queues.accepting,
        "telling": queues.telling,
        "idle": one_process.idle,
        "growth": one_process.growth,
        "loop holds": loop_holds,
        "supervisor rates": supervisor_rates,
    },
    {
        ("throughput", "share_of_raw_limit"): Target(0.18, at_most=False),
        ("limits per key", "capped_throughput"): Target(0.9, at_most=False),
        ("costs", "commits"): Target(4, at_most=True),
        ("costs", "wal_bytes"): Target(4_500, at_most=True),
        ("two schedulers", "two_to_one_steps"): Target(1.0, at_most=False),
        ("two schedulers", "two_to_one_cpu"): Target(1.15, at_most=True),
        ("transport, store", "steps_per_s"): Target(6_000, at_most=False),
        ("transport, NATS", "steps_per_s"): Target(8_000, at_most=False),
        ("transport, NATS", "beyond_local_ms"): Target(4, at_most=True),
        ("transport, RabbitMQ", "steps_per_s"): Target(4_000, at_most=False),
        ("transport, AMQP 1.0", "steps_per_s"): Target(2_000, at_most=False),
        ("safeguards", "postgresql_throughput"): Target(0.95, at_most=False),
        ("safeguards", "nats_throughput"): Target(0.95, at_most=False),
        ("supervising", "idle_pass_ms"): Target(20, at_most=True),
        ("supervising", "decided_s"): Target(10, at_most=True),
        ("takeover", "beyond_lease_s"): Target(5.0, at_most=True),
    },
    _server,
)

STORES = {"sqlite": SQLITE, "postgresql": POSTGRESQL}
