"""The measures of one product: a fresh store, a fresh server and a fresh process each time."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import asyncpg

from benchmarks.comparison.peer_servers import PeerServer
from benchmarks.comparison.process_trees import usage
from benchmarks.comparison.products import QUEUED, TEN, Product
from benchmarks.comparison.programs import MeasuredProgram, ProgramFailed, started

STEPS = 10
IN_FLIGHT = 128
HOLD = {"BENCH_HOLD": "1"}
MICROSECONDS, MIB = 1e6, 2**20
READ = "select pg_current_wal_insert_lsn() - '0/0'::pg_lsn, pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
"""Each transaction that writes takes the next number."""

Figures = dict[str, float]


class Sizes(NamedTuple):
    """How long and how much is measured."""

    rounds: int = 5
    warm_seconds: float = 1.0
    ten_seconds: float = 4.0
    alone_seconds: float = 2.0
    queued_seconds: float = 1.5
    held: int = 200
    budget_seconds: float = 1_140.0
    """The time after which no further part of the run is begun."""


class Log(NamedTuple):
    """The write-ahead log of a PostgreSQL server at an instant."""

    bytes: float
    commits: float


async def round_of(product: Product, sizes: Sizes) -> Figures:
    """One round of all that the product takes part in but recovery; raises ``ProgramFailed``."""
    async with _placed(product) as server, started([*product.command, server.address], {}) as program:
        figures: Figures = {}
        if TEN in product.takes:
            await program.do("warm", seconds=sizes.warm_seconds, in_flight=IN_FLIGHT)
            figures |= await _ten_steps(server, program, sizes.ten_seconds)
            answer = await program.do("alone", seconds=sizes.alone_seconds)
            figures |= {"alone_p50_ms": answer["p50_ms"], "alone_p95_ms": answer["p95_ms"]}
        if QUEUED in product.takes:
            answer = await program.do("queued", seconds=sizes.queued_seconds)
            figures["queued_tasks_per_s"] = answer["tasks"] / answer["seconds"]
        return figures


async def recovery(product: Product, sizes: Sizes) -> Figures:
    """Seconds from ``kill -9`` of a process with half-done tasks until another has ended all, its start included."""
    async with _placed(product) as server:
        command = [*product.command, server.address]
        async with started(command, HOLD) as victim:
            await victim.do("hold", tasks=sizes.held)
            began = time.perf_counter()
            await victim.kill()
            async with started(command, {}) as heir:
                await heir.do("finish", tasks=sizes.held)
                return {"recovered_after_s": time.perf_counter() - began}


@asynccontextmanager
async def _placed(product: Product) -> AsyncIterator[PeerServer]:
    """A server with an empty store; raises ``ProgramFailed`` where it does not start."""
    with tempfile.TemporaryDirectory(prefix="stepward-bench-", ignore_cleanup_errors=True) as folder:
        opened = product.server(Path(folder))
        try:
            server = opened.__enter__()
        except (OSError, RuntimeError) as error:
            raise ProgramFailed(f"server: {error}".replace("\n", " ")) from error
        try:
            yield server
        finally:
            opened.__exit__(*sys.exc_info())


async def _ten_steps(server: PeerServer, program: MeasuredProgram, seconds: float) -> Figures:
    before = usage(program.pid), usage(server.pid), await _log(server)
    answer = await program.do("ten", seconds=seconds, in_flight=IN_FLIGHT)
    client, served = usage(program.pid).since(before[0]), usage(server.pid).since(before[1])
    log, steps = await _log(server), answer["tasks"] * STEPS
    return {
        "steps_per_s": steps / answer["seconds"],
        "client_cpu_us": client.cpu_seconds / steps * MICROSECONDS,
        "server_cpu_us": served.cpu_seconds / steps * MICROSECONDS,
        "client_mib": client.memory_bytes / MIB,
        "server_mib": served.memory_bytes / MIB,
        # A program without a server writes its store itself, and hardly anything else.
        **({} if server.pid else {"written_bytes": client.written_bytes / steps}),
        **_logged(before[2], log, steps),
    }


def _logged(before: Log | None, after: Log | None, steps: int) -> Figures:
    if before is None or after is None:
        return {}
    return {"written_bytes": (after.bytes - before.bytes) / steps, "commits": (after.commits - before.commits) / steps}


async def _log(server: PeerServer) -> Log | None:
    """The counters of a PostgreSQL server; None for others."""
    if not server.address.startswith("postgresql:"):
        return None
    connection = await asyncpg.connect(server.address)
    try:
        written, commits = await connection.fetchrow(READ) or (0, 0)
        return Log(float(written), float(commits))
    finally:
        await connection.close()
