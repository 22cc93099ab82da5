"""The products that are measured, each with its durability and what is particular in its program."""

from __future__ import annotations

import sys
from typing import NamedTuple

from benchmarks.comparison import peer_servers
from benchmarks.comparison.peer_servers import Opened

PEERS_PYTHON = str(peer_servers.PEERS / "bin/python")
TEN, QUEUED, RECOVERY = "ten", "queued", "recovery"
"""Ten-step tasks, plain queueing of one-step tasks, and the takeover of half-done tasks after ``kill -9``."""
WHOLE = frozenset({TEN, QUEUED, RECOVERY})


class Product(NamedTuple):
    """A product, and the place that it stores in."""

    key: str
    """The name for a command line and in the file of results."""
    title: str
    program: str
    """The module of its program."""
    python: str
    server: Opened
    takes: frozenset[str]
    beside: str
    """The key of the Stepward that its ratios are taken with: on the same kind of store, else on PostgreSQL."""
    packages: tuple[str, ...]
    """The packages whose versions are reported."""
    durability: str
    remark: str = ""

    @property
    def command(self) -> tuple[str, ...]:
        """The command of its program, before the address."""
        return (self.python, "-m", f"benchmarks.peers.{self.program}")


SQLITE_FULL = "a synced commit (`synchronous=FULL`) in a SQLite file"
SYNCED = "a synced commit of PostgreSQL (`fsync`, `synchronous_commit` on)"


def _on(store: str) -> tuple[Opened, str]:
    return {"sqlite": (peer_servers.sqlite_file, "SQLite"), "postgresql": (peer_servers.postgresql, "PostgreSQL")}[
        store
    ]


def _ours(store: str) -> Product:
    opened, name = _on(store)
    key = f"stepward-{store}"
    durability = {"sqlite": SQLITE_FULL, "postgresql": SYNCED}[store]
    remark = "Scheduler, Agents, Supervisor and client in one process; lease of 10 s"
    return Product(
        key,
        f"Stepward, {name}",
        "stepward_program",
        sys.executable,
        opened,
        WHOLE,
        key,
        ("stepward",),
        durability,
        remark,
    )


def _floor(store: str) -> Product:
    opened, name = _on(store)
    takes, beside = frozenset({TEN}), f"stepward-{store}"
    durability = {"sqlite": SQLITE_FULL, "postgresql": SYNCED}[store]
    remark = "a hand-written loop that writes the same rows in the same batches, and nothing else"
    return Product(
        f"floor-{store}",
        f"raw limit, {name}",
        "floor_program",
        sys.executable,
        opened,
        takes,
        beside,
        (),
        durability,
        remark,
    )


def _dbos(store: str) -> Product:
    opened, name = _on(store)
    durability = {
        "sqlite": "a synced commit in a SQLite file with a rollback journal: DBOS leaves SQLite's defaults",
        "postgresql": SYNCED,
    }[store]
    remark = "coroutines or functions on threads, whichever the warm-up finds faster; one executor, restarted at once"
    return Product(
        f"dbos-{store}",
        f"DBOS, {name}",
        "dbos_program",
        PEERS_PYTHON,
        opened,
        WHOLE,
        f"stepward-{store}",
        ("dbos",),
        durability,
        remark,
    )


PRODUCTS = (
    _ours("sqlite"),
    _ours("postgresql"),
    _floor("sqlite"),
    _floor("postgresql"),
    _dbos("sqlite"),
    _dbos("postgresql"),
    Product(
        "restate",
        "Restate",
        "restate_program",
        PEERS_PYTHON,
        peer_servers.restate,
        WHOLE,
        "stepward-postgresql",
        ("restate-sdk", "hypercorn"),
        "its own replicated log on one node, on disk with its default settings",
        "one server, the Python SDK behind hypercorn, calls through its ingress",
    ),
    Product(
        "absurd",
        "Absurd, PostgreSQL",
        "absurd_program",
        PEERS_PYTHON,
        peer_servers.postgresql,
        WHOLE,
        "stepward-postgresql",
        ("absurd-sdk",),
        SYNCED,
        "four workers of 64 tasks, polls each 10 ms instead of 250, a claim of 10 s; results are polled by its client",
    ),
    Product(
        "procrastinate",
        "Procrastinate, PostgreSQL",
        "procrastinate_program",
        PEERS_PYTHON,
        peer_servers.postgresql,
        frozenset({QUEUED}),
        "stepward-postgresql",
        ("procrastinate",),
        SYNCED,
        "a queue without steps: one worker of 128 coroutines",
    ),
    Product(
        "celery",
        "Celery, RabbitMQ",
        "celery_program",
        PEERS_PYTHON,
        peer_servers.broker,
        frozenset({QUEUED}),
        "stepward-postgresql",
        ("celery",),
        "persistent messages in a classic queue, without confirms of the publisher, acknowledged before the task runs",
        "a queue without steps: a process for each core, no result backend",
    ),
)
"""In the order of the report."""

LEFT_OUT = {
    "Temporal": "its server for production is in no package of PyPI, npm or Debian, and its development server is not "
    "made for load: on a file, one task of ten steps took a second, and 128 in flight came to no end",
    "Resonate and durabletask": "their servers for Python keep tasks in memory: there is no durable commit to compare",
}
"""Products that are not measured, and why; documented in ``docs/performance.md``."""
