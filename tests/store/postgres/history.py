"""``python -m tests.store.postgres.history --tasks 10000000``: how fast a store is that holds so many finished tasks.

Fills two databases of a server of its own with the same live tasks and a short and a long history, does the same in
both, and prints what each verb took: in the one, in the other, and the most that it may take. Ends with 1 if one took
longer. Ten million tasks take 15 GB and half an hour.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg

from servers import postgres
from stepward.clock import Environment
from stepward.model.records import Instance, Role, Task
from stepward.model.states import TaskState
from stepward.store.address import postgres_place
from stepward.store.contract import Change, Store, TaskMove
from stepward.store.postgres import PostgresStore
from stepward.supervisor.archives.folder_archive import FolderArchive
from stepward.supervisor.retention import BATCH, purging
from tests.store.listing import listed

DAY = 86_400.0
KEPT = 30 * DAY
LIVE = 10_000
AT_ONCE = 250_000
ROUNDS = 20
FEW = 4 * ROUNDS * BATCH
"""Half of them are old, and deleted in two ways."""
SETTINGS = {"shared_buffers": "512MB", "max_wal_size": "8GB", "maintenance_work_mem": "256MB", "fsync": "off"}
"""Loaded data need not survive; everything is warm or cold as it comes."""


class Bound(NamedTuple):
    """The most that a verb may take, the median of some rounds, in milliseconds."""

    milliseconds: float


BOUNDS = {
    "due": Bound(20),
    "submit 100": Bound(60),
    "claim 100": Bound(60),
    "end 100 tasks": Bound(60),
    "next_wake": Bound(10),
    "show one task of long ago": Bound(10),
    "newest 100": Bound(20),
    "newest 100 of a workflow": Bound(100),
    "newest 100 of a label": Bound(300),
    "100 in error": Bound(20),
    "100 processing": Bound(60),
    "100 processed": Bound(20),
    "look for a batch of old tasks": Bound(75),
    "delete a batch": Bound(200),
    "archive and delete a batch": Bound(750),
}

# About the size of real ones: uids in the order of time, two steps, labels.
UID = "lpad(to_hex(n), 12, '0') || '-7000-8000-000000000000'"
FILL = f"""
with made as (
    insert into stepward_shop.task (uid, id, workflow, version, state, priority, labels, run, input, output, undo_to,
        inbox, failure_count, recovery_count, created_at, started_at, finished_at)
    select {UID}, 'order-' || n, 'workflow-' || n % 5, '1', case when n % 50 = 0 then 'undone' else 'processed' end, 5,
        convert_to('{{"customer":"' || n % 1000 || '"}}', 'UTF8'), 1,
        convert_to('["order-' || n || '", 4200, "Elm Street 5"]', 'UTF8'), '"parcel-1"',
        case when n % 50 = 0 then 'undone' end, 0, 0, 0,
        $3::float8 + n * $4::float8, $3::float8 + n * $4::float8, $3::float8 + n * $4::float8 + 1
    from generate_series($1::bigint, $2::bigint) as n)
insert into stepward_shop.step (task, run, key, number, name, kind, state, agent, attempt, failure_count, started_at,
    finished_at, ordinal, input, output, has_undo, irreversible, in_doubt, watched, generation)
select {UID}, 1, name || '/1', number, name, 'operation', 'completed', split_part(name, '.', 1), 1, 0,
    $3::float8 + n * $4::float8, $3::float8 + n * $4::float8 + 1, number,
    convert_to('["order-' || n || '", 4200]', 'UTF8'), convert_to('"result-' || n || '"', 'UTF8'), number = 1, false,
    false, false, 0
from generate_series($1::bigint, $2::bigint) as n,
    (values (1, 'payments.charge'), (2, 'parcels.ship')) as steps (number, name)
"""
ERRORS = """
update stepward_shop.task set state = 'error', finished_at = created_at + 1, locked_by = null
where uid in (select uid from stepward_shop.task where locked_by = 's1' order by uid limit 200)
"""


async def main(tasks: int) -> int:
    """Fill, measure and print; 1 if something took too long."""
    with postgres.running(settings=SETTINGS) as server, tempfile.TemporaryDirectory() as folder:
        for name in ("small", "large"):
            await server.execute(f"create database {name}")
        small = await _measured(server.address("small"), FEW, Path(folder))
        large = await _measured(server.address("large"), tasks, Path(folder))
        print(await _sizes(server.address("large")))
    print(f"\n{'milliseconds, the median':40}{f'{FEW:,}':>10}{f'{tasks:,}':>14}{'at most':>10}")
    missed = 0
    for name, bound in BOUNDS.items():
        too_long = large[name] > bound.milliseconds
        missed += too_long
        print(f"{name:40}{small[name]:10.1f}{large[name]:14.1f}{bound.milliseconds:10g}{'  missed' * too_long}")
    return 1 if missed else 0


async def _measured(address: str, tasks: int, folder: Path) -> dict[str, float]:
    store = PostgresStore(postgres_place(address), app="shop", environment=Environment())
    await store.open()
    try:
        began = time.perf_counter()
        await _fill(address, tasks, store.now())
        await _live(store)
        await _run(address, ERRORS, "analyze")
        print(f"{address}: {tasks:,} tasks in {time.perf_counter() - began:,.0f} s", flush=True)
        return await _Measures(store, folder).all()
    finally:
        await store.close()


async def _fill(address: str, tasks: int, now: float) -> None:
    """Finished tasks, evenly over twice the time for which they are kept."""
    connection = await asyncpg.connect(address)
    try:
        for first in range(1, tasks + 1, AT_ONCE):
            last = min(first + AT_ONCE - 1, tasks)
            await connection.execute(FILL, first, last, now - 2 * KEPT, 2 * KEPT / tasks)
    finally:
        await connection.close()


async def _live(store: Store) -> None:
    """Tasks that wait to be claimed, and as many that are being processed."""
    await store.host.register(Instance(id="s1", role=Role.SCHEDULER, host="h", pid=1, serves=[]), DAY)
    for _ in range(2):
        await store.client.submit([_task(store) for _ in range(LIVE)])
        if not await listed(store, state=TaskState.PROCESSING, limit=1):
            for _ in range(LIVE // 1_000):
                await store.scheduler.claim("s1", [("workflow-1", "1")], 1_000)


async def _run(address: str, *statements: str) -> None:
    connection = await asyncpg.connect(address)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


async def _sizes(address: str) -> str:
    connection = await asyncpg.connect(address)
    try:
        found = await connection.fetch(
            "select relname, pg_size_pretty(pg_total_relation_size(relid)), n_live_tup, n_dead_tup, autovacuum_count"
            " from pg_stat_user_tables where relname in ('task', 'step') order by relname desc"
        )
    finally:
        await connection.close()
    return "\n".join(
        f"{name}: {size}, {live:,} rows, {dead:,} dead, vacuumed {count} times"
        for name, size, live, dead, count in found
    )


def _task(store: Store) -> Task:
    uid = ENVIRONMENT.new_uid()
    return Task(uid=uid, id=uid, workflow="workflow-1", version="1", created_at=store.now())


ENVIRONMENT = Environment()


class _Measures:
    """Acts on a store, each some times."""

    def __init__(self, store: Store, folder: Path) -> None:
        self._store = store
        self._archive = FolderArchive(folder, "history")
        self._claimed: list[Task] = []

    async def all(self) -> dict[str, float]:
        store = self._store
        term = await store.supervisor.lead("supervisor", DAY)
        assert term is not None
        before = store.now() - KEPT

        async def delete(archive: FolderArchive | None) -> None:
            async for count in purging(
                store.supervisor, archive, before, lambda batch: store.supervisor.purge(term, batch)
            ):
                assert count == BATCH
                break

        doing: dict[str, Callable[[], Awaitable[Any]]] = {
            "due": store.supervisor.due,
            "submit 100": lambda: store.client.submit([_task(store) for _ in range(100)]),
            "claim 100": self._claim,
            "end 100 tasks": self._end,
            "next_wake": store.scheduler.next_wake,
            "show one task of long ago": self._show,
            "newest 100": lambda: listed(store),
            "newest 100 of a workflow": lambda: listed(store, workflow="workflow-3"),
            "newest 100 of a label": lambda: listed(store, label=("customer", "42")),
            "100 in error": lambda: listed(store, state=TaskState.ERROR),
            "100 processing": lambda: listed(store, state=TaskState.PROCESSING),
            "100 processed": lambda: listed(store, state=TaskState.PROCESSED),
            "look for a batch of old tasks": lambda: store.supervisor.outlived(before, BATCH),
            "delete a batch": lambda: delete(None),
            "archive and delete a batch": lambda: delete(self._archive),
        }
        return {name: await _median(what) for name, what in doing.items()}

    async def _claim(self) -> None:
        found = await self._store.scheduler.claim("s1", [("workflow-1", "1")], 100)
        assert len(found) == 100
        self._claimed += [history.task for history in found]

    async def _end(self) -> None:
        ending, self._claimed = self._claimed[:100], self._claimed[100:]
        changes = [
            Change(
                task=task.uid,
                move=TaskMove(before=task.state, after=TaskState.PROCESSED, inbox=0, at=self._store.now()),
            )
            for task in ending
        ]
        assert (await self._store.scheduler.commit("s1", changes, None)).missed == {}

    async def _show(self) -> None:
        assert await self._store.client.task("order-777") is not None
        assert len(await self._store.client.steps("order-777")) == 2


async def _median(what: Callable[[], Awaitable[Any]]) -> float:
    took = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        await what()
        took.append(1000 * (time.perf_counter() - began))
    return statistics.median(took)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=1_000_000)
    sys.exit(asyncio.run(main(parser.parse_args().tasks)))
