"""Programs of the version before go on working while a store is brought to the next version."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from stepward.errors import StepwardError, StoreUnavailable
from stepward.store.postgres import PostgresStore
from stepward.store.postgres.schema import migration, versions
from stepward.store.store_at_address import missing
from tests.store.conformance.world import World
from tests.store.postgres.pooler import pooler
from tests.store.postgres.worlds import Database

pytestmark = pytest.mark.servers

BOUND = 120.0
WAITS_AT_MOST = 2.0
"""Seconds: twice what a try waits for a lock, as the machine may be busy."""
ADD = "alter table {schema}.task add column later integer;"
MAKE = """-- beside
create index concurrently task_later on {schema}.task (labels);
"""
INDEX = "select indisvalid from pg_index where indexrelid = to_regclass('stepward_shop.task_later')"
VERSION = "select value from stepward_shop.meta where key = 'schema_version'"
CATALOGUE = """
select c.relname || ' ' || a.attnum || ' ' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || a.attnotnull
        || coalesce(pg_get_expr(d.adbin, d.adrelid), '')
    from pg_attribute as a join pg_class as c on c.oid = a.attrelid
    left join pg_attrdef as d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where c.relnamespace = 'stepward_shop'::regnamespace and c.relkind = 'r' and a.attnum > 0
union all select pg_get_indexdef(indexrelid) || indisvalid from pg_index
    where indrelid in (select oid from pg_class where relnamespace = 'stepward_shop'::regnamespace)
union all select conname || pg_get_constraintdef(oid) from pg_constraint
    where connamespace = 'stepward_shop'::regnamespace
order by 1
"""

newest = versions.newest()


@pytest.fixture
def next_versions(monkeypatch: pytest.MonkeyPatch) -> NextVersions:
    return NextVersions(monkeypatch)


class NextVersions:
    """What stores that are opened from now on bring theirs to."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch
        self._known = list(versions.migrations())

    def are(self, *texts: str) -> None:
        known = [*self._known, *enumerate(texts, newest + 1)]
        self._patch.setattr(versions, "migrations", lambda: known)

    def is_only(self, version: int) -> None:
        self._patch.setattr(versions, "migrations", lambda: self._known[:version])


@asynccontextmanager
async def dump(database: Database) -> AsyncIterator[int]:
    """Reads every table in one transaction, as pg_dump does; its process."""
    connection = await database.connect()
    await connection.execute("begin isolation level repeatable read read only")
    await connection.execute("lock table stepward_shop.task, stepward_shop.step in access share mode")
    await connection.execute("select count(*) from stepward_shop.task")
    yield connection.get_server_pid()
    await connection.execute("commit")


@asynccontextmanager
async def opening(store: PostgresStore) -> AsyncIterator[asyncio.Task[None]]:
    """A store that is being opened within the block, and open at its end."""
    task = asyncio.create_task(store.open())
    try:
        yield task
        async with asyncio.timeout(BOUND):
            await task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def goes_on(store: PostgresStore, count: int) -> None:
    """The version before submits tasks, none of which waits for long."""
    world = World(lambda environment: store)
    for _ in range(count):
        async with asyncio.timeout(WAITS_AT_MOST):
            await store.client.submit([world.task()])
        await asyncio.sleep(0.02)


async def test_a_dump_delays_the_migration_and_no_other_transaction(
    database: Database, next_versions: NextVersions
) -> None:
    before = await database.opened()
    next_versions.are(ADD)
    async with opening(database.store()) as migration, dump(database):
        await goes_on(before, 60)
        assert not migration.done()
    assert await database.rows(VERSION) == [(str(newest + 1),)]


async def test_a_server_that_has_lost_its_timeouts_delays_no_transaction(
    database: Database, next_versions: NextVersions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where its clock was set: the wait for a lock ends as late as the step is long, or a minute late."""
    monkeypatch.setattr(versions.MigrationPart, "bounds", lambda part, seconds: "set local statement_timeout = 0")
    before = await database.opened()
    next_versions.are(ADD)
    async with opening(database.store()) as migration, dump(database):
        await goes_on(before, 40)
        assert not migration.done()
    assert await database.rows(VERSION) == [(str(newest + 1),)]


async def test_an_index_is_made_beside_the_work(database: Database, next_versions: NextVersions) -> None:
    before = await database.opened()
    writer = await database.connect()
    await writer.execute("begin")
    await writer.execute("update stepward_shop.task set labels = labels")
    next_versions.are(MAKE)
    async with opening(database.store()) as migration:
        await goes_on(before, 20)
        assert not migration.done()
        await writer.execute("commit")
    assert await database.rows(INDEX) == [(True,)]


async def test_an_index_that_was_not_made_to_its_end_is_made_again(
    database: Database, next_versions: NextVersions
) -> None:
    await database.opened()
    await database.rows("create index task_later on stepward_shop.task (input)")
    await database.rows(
        "update pg_index set indisvalid = false where indexrelid = 'stepward_shop.task_later'::regclass"
    )
    next_versions.are(MAKE)
    await database.opened()
    assert await database.rows(INDEX) == [(True,)]


async def test_what_was_done_before_a_failure_stays_and_is_gone_on_from(
    database: Database, next_versions: NextVersions
) -> None:
    await database.opened()
    parts = f"{ADD}\n{MAKE}\n-- transaction\nselect 1 / 0;"
    next_versions.are(ADD.replace("later", "sooner"), parts)
    with pytest.raises(StepwardError, match="DivisionByZeroError"):
        await database.opened()
    assert await database.rows(VERSION) == [(str(newest + 1),)]
    next_versions.are("", parts.replace("1 / 0", "1"))
    await database.opened()
    assert await database.rows(VERSION) == [(str(newest + 2),)]
    assert await database.rows("select key from stepward_shop.meta order by 1") == [("app",), ("schema_version",)]


async def test_many_migrate_at_once(
    database: Database, next_versions: NextVersions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So many look for their turn that the index finds one of them at work: it must not wait for that one's turn."""
    monkeypatch.setattr(migration, "LOOK_SECONDS", 0.001)
    await database.opened()
    next_versions.are(ADD, MAKE)
    async with asyncio.timeout(BOUND):
        await asyncio.gather(*[database.store().open() for _ in range(4)])
    assert await database.rows(INDEX) == [(True,)]


async def test_who_holds_the_tables_for_too_long_is_named(
    database: Database, next_versions: NextVersions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migration, "TRY_SECONDS", 0.2)
    await database.opened()
    next_versions.are(ADD)
    async with dump(database) as pid:
        with pytest.raises(StoreUnavailable, match=rf"found them held by process {pid} \(user postgres\)"):
            await database.opened()
    await database.opened()


async def test_a_migration_that_another_process_holds_is_reported(
    database: Database, next_versions: NextVersions, monkeypatch: pytest.MonkeyPatch
) -> None:
    await database.opened()
    next_versions.are(ADD)
    async with opening(database.store()), dump(database):
        while not await database.rows("select 1 from pg_locks where locktype = 'relation' and not granted"):
            pass
        monkeypatch.setattr(migration, "TRY_SECONDS", 0.2)
        with pytest.raises(StoreUnavailable, match="found another process at it all the while"):
            await database.opened()


@pytest.mark.parametrize("version", range(1, newest))
async def test_a_migrated_store_equals_a_new_one(database: Database, next_versions: NextVersions, version: int) -> None:
    next_versions.is_only(version)
    await database.opened()
    next_versions.are()
    await database.opened()
    migrated = await database.rows(CATALOGUE)
    await database.rows("drop schema stepward_shop cascade")
    await database.opened()
    assert migrated == await database.rows(CATALOGUE)


def statements(sql: str) -> Iterator[str]:
    """The statements of a text; the bodies of functions stand between two $$ and hold semicolons of their own."""
    pending = ""
    for piece in sql.split(";\n"):
        pending += piece + ";\n"
        if pending.count("$$") % 2 == 0:
            yield pending
            pending = ""


async def test_the_printed_sql_does_what_a_migration_does(database: Database, next_versions: NextVersions) -> None:
    next_versions.is_only(1)
    await database.opened()
    next_versions.are()
    connection = await database.connect()
    for part in missing(database.address):
        for statement in statements(part):
            await connection.execute(statement)
    assert missing(database.address) == []
    by_hand = await database.rows(CATALOGUE)
    await database.rows("drop schema stepward_shop cascade")
    await database.opened()
    assert by_hand == await database.rows(CATALOGUE)


async def test_a_store_is_migrated_through_a_pooler(database: Database, next_versions: NextVersions) -> None:
    next_versions.is_only(1)
    await database.opened()
    next_versions.are()
    async with pooler(database.server.port) as port:
        store = await database.opened(address=database.address.replace(str(database.server.port), str(port)))
        await store.close()
    assert await database.rows(VERSION) == [(str(newest),)]
