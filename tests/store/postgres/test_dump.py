"""A real ``pg_dump`` while programs work and a migration begins: no transaction waits for it, and the dump is whole."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from tests.store.conformance.world import SERVED, World, scheduler
from tests.store.listing import listed
from tests.store.postgres.test_migration import ADD, INDEX, MAKE, VERSION, NextVersions, goes_on, newest, opening
from tests.store.postgres.worlds import Database

pytestmark = [pytest.mark.servers, pytest.mark.faults]

TASKS = 20_000
"""Many more than fit into the pipe, which is not read at first: the dump stands in the middle of them meanwhile."""
FILL = f"""
insert into stepward_shop.task (uid, id, workflow, version, state, priority, labels, run, input, inbox, failure_count,
    recovery_count, created_at)
select 't' || lpad(n::text, 7, '0'), 'i' || n, 'order', '1', 'pending', 5, '{{}}', 1, '["{"x" * 100}"]', 0, 0, 0, 0
from generate_series(1, {TASKS}) as n
"""
AT_WORK = """
select count(*) from pg_stat_activity where application_name = 'pg_dump' and query like 'COPY%stepward_shop.task %'
"""


@pytest.fixture
def next_versions(monkeypatch: pytest.MonkeyPatch) -> NextVersions:
    return NextVersions(monkeypatch)


async def test_a_dump_under_load_and_a_migration_is_whole_and_delays_no_transaction(
    database: Database, next_versions: NextVersions, tmp_path: Path
) -> None:
    before = await database.opened()
    await database.run(FILL)
    dump = await _tool(database, "pg_dump", database.name)
    assert dump.stdout is not None
    while await database.rows(AT_WORK) != [(1,)]:
        assert dump.returncode is None
    next_versions.are(ADD + "\n" + MAKE)
    async with opening(database.store()) as migration:
        await goes_on(before, 40)
        await scheduler(before)
        assert len(await before.scheduler.claim("s1", SERVED, 100)) == 100
        assert not migration.done()
        written, _ = await dump.communicate()
        assert dump.returncode == 0
    assert await database.rows(VERSION) == [(str(newest + 1),)]
    assert await database.rows(INDEX) == [(True,)]
    await _restored(database, written, tmp_path)


async def _restored(database: Database, written: bytes, folder: Path) -> None:
    """The dump opens as a store, is migrated to the next version, and continues with every task of that moment."""
    script = folder / "dump.sql"
    script.write_bytes(written)
    copy = Database(database.server, await database.server.create())
    try:
        restore = await _tool(copy, "psql", "-q", "-v", "ON_ERROR_STOP=1", "-f", str(script), copy.name)
        _, said = await restore.communicate()
        assert restore.returncode == 0, said.decode()
        assert await copy.rows(VERSION) == [(str(newest),)]
        store = await copy.opened()
        assert await copy.rows("select count(*), count(locked_by) from stepward_shop.task") == [(TASKS, 0)]
        await scheduler(store)
        assert len(await store.scheduler.claim("s1", SERVED, 100)) == 100
        await store.client.submit([World(lambda environment: store).task()])
        assert len(await listed(store, limit=10)) == 10
    finally:
        await copy.close()
        await copy.server.drop(copy.name)


async def _tool(database: Database, name: str, *arguments: str) -> asyncio.subprocess.Process:
    server = database.server
    place = ("-h", "127.0.0.1", "-p", str(server.port), "-U", "postgres", "-w")
    return await asyncio.create_subprocess_exec(
        str(server.programs / name), *place, *arguments, stdout=PIPE, stderr=PIPE
    )
