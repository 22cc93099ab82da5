"""What a two-step task alone costs a PostgreSQL server: commits, and bytes of the write-ahead log."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from typing import NamedTuple

from benchmarks.application import make_app, two
from benchmarks.store_locations import Place
from benchmarks.store_queries import once
from stepward import Client
from stepward.store.postgres.store import PostgresStore

TASKS = 500
REST_SECONDS = 5.0
READ = "select pg_current_wal_insert_lsn() - '0/0'::pg_lsn, pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
"""Each transaction that writes takes the next number, one that notifies included."""

Figures = dict[str, float]


class Meter(NamedTuple):
    """Counters at an instant."""

    wal_bytes: float
    commits: float
    statements: float
    seconds: float

    def since(self, before: Meter) -> Meter:
        """The difference to earlier counters."""
        return Meter(*(after - was for after, was in zip(self, before, strict=True)))


async def costs(place: Place, *, tasks: int = TASKS, rest: float = REST_SECONDS) -> Figures:
    """For each task, less what the same time costs without one; pages are warm, so that none is logged whole."""
    address = await place.fresh()
    app = make_app(address)
    async with app.running() as running, app.client() as client:
        assert isinstance(running.store, PostgresStore)
        await _run(client, tasks)
        at_rest = await _metered(address, running.store, asyncio.sleep(rest))
        spent = await _metered(address, running.store, _run(client, tasks))
    share = spent.seconds / at_rest.seconds
    wal_bytes, commits, statements, _ = (
        (busy - idle * share) / tasks for busy, idle in zip(spent, at_rest, strict=True)
    )
    # What the same time costs without a task is known no better than to a tenth of a commit a task.
    return {"commits": round(commits, 1), "wal_bytes": wal_bytes, "statements": statements}


async def _run(client: Client, tasks: int) -> None:
    for n in range(tasks):
        await (await client.submit(two, f"order {n}")).result()


async def _metered(address: str, store: PostgresStore, work: Awaitable[None]) -> Meter:
    before = await _read(address, store)
    await work
    return (await _read(address, store)).since(before)


async def _read(address: str, store: PostgresStore) -> Meter:
    wal_bytes, commits = await once(address, READ)
    return Meter(float(wal_bytes), float(commits), float(store.statements), time.perf_counter())
