"""What an application leaves in the session of its transaction is gone before the next one has that session."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import pytest

from stepward import App, Client, step, workflow
from stepward.client import session_of
from stepward.errors import StoreUnavailable
from stepward.store.postgres import PostgresStore
from stepward.store.postgres.hot.open_transaction import PostgresTransaction
from tests.store.postgres.pooler import pooler
from tests.store.postgres.worlds import Database
from tests.transactions.application import SETTINGS, application

pytestmark = pytest.mark.servers

BOUND = 120.0
BACKEND = "select pg_backend_pid()"
LOCKS = "select count(*) from pg_locks where locktype = 'advisory'"


class Trace(NamedTuple):
    """What an application runs, what shows that something is left of it, and what is found in a new session."""

    sql: str
    shown_by: str
    clean: Any


TRACES = {
    "tenant": Trace(
        "select set_config('app.tenant', 'acme', false)", "select coalesce(current_setting('app.tenant', true), '')", ""
    ),
    "role": Trace("set role pg_monitor", "select current_user::text", "postgres"),
    "authorization": Trace("set session authorization pg_monitor", "select session_user::text", "postgres"),
    "search path": Trace("set search_path = pg_catalog", "show search_path", '"$user", public'),
    "time zone": Trace("set time zone 'Asia/Tokyo'", "select current_setting('TimeZone') = 'Asia/Tokyo'", False),
    "read-only": Trace(
        "set session characteristics as transaction read only", "show default_transaction_read_only", "off"
    ),
    "temporary table": Trace("create temporary table basket (x integer)", "select to_regclass('basket')::text", None),
    "lock": Trace("select pg_advisory_lock(7)", LOCKS, 0),
    "cursor": Trace(
        "declare walk cursor with hold for select 1", "select count(*) from pg_cursors where is_holdable", 0
    ),
}
PLACES = ["directly", pytest.param("pooled", marks=pytest.mark.faults)]


@pytest.fixture(params=PLACES)
async def guest(request: pytest.FixtureRequest, database: Database) -> AsyncIterator[Client]:
    """A client on the server, or through a pooler in transaction mode."""
    async with _address(request.param, database) as address, application(address).client() as client:
        yield client


@asynccontextmanager
async def _address(way: str, database: Database) -> AsyncIterator[str]:
    if way == "directly":
        yield database.address
    else:
        async with pooler(database.server.port) as port:
            yield database.address.replace(str(database.server.port), str(port))


@pytest.mark.parametrize("trace", TRACES.values(), ids=TRACES)
async def test_what_one_transaction_set_is_not_there_in_the_next(guest: Client, trace: Trace) -> None:
    async with guest.transaction() as transaction:
        await transaction.execute(trace.sql)
    for _ in range(3):
        assert await _asked(guest, trace.shown_by) == trace.clean


@pytest.mark.parametrize("trace", [TRACES["lock"]], ids=["lock"])
async def test_what_outlives_a_rollback_is_not_there_in_the_next(guest: Client, trace: Trace) -> None:
    with pytest.raises(KeyError):
        async with guest.transaction() as transaction:
            await transaction.execute(trace.sql)
            raise KeyError
    assert await _asked(guest, trace.shown_by) == trace.clean


async def test_a_lock_is_free_before_the_session_is_used_again(guest: Client, database: Database) -> None:
    async with guest.transaction() as transaction:
        await transaction.execute("select pg_advisory_lock(7)")
    assert await database.rows(LOCKS) == [(0,)]


async def test_a_session_is_used_again_with_the_bounds_it_had(client: Client) -> None:
    found = []
    for _ in range(2):
        async with client.transaction() as transaction:
            rows = await transaction.execute(f"{BACKEND}, current_setting('statement_timeout')")
            await transaction.execute("set statement_timeout = 0")
            found += rows
    assert found[0] == found[1]
    assert found[0][1] == "1min"


async def test_a_transaction_that_fails_to_commit_raises_and_leaves_nothing(guest: Client) -> None:
    with pytest.raises(Exception, match="found it rolled back by an earlier statement"):
        async with guest.transaction() as transaction:
            await transaction.execute("select pg_advisory_lock(7)")
            with pytest.raises(Exception, match="division by zero"):
                await transaction.execute("select 1 / 0")
    assert await _asked(guest, LOCKS) == 0


DEFERRED = """
create function refuse() returns trigger language plpgsql as 'begin raise exception $1$no such seat$1$; end';
create constraint trigger late after insert on public.cart deferrable initially deferred
for each row execute function refuse();
""".replace("$1$", "''")
BROKEN_CLEANING = """
create schema faulty;
create function faulty.pg_advisory_unlock_all() returns void language plpgsql
    as 'begin raise exception ''faulty''; end';
alter database {name} set search_path = faulty, pg_catalog, public;
"""


async def test_a_commit_refused_by_a_deferred_trigger_raises_the_error_of_the_trigger(
    alters: None, database: Database, client: Client
) -> None:
    """Commit and cleaning are one message: what failed may be either."""
    await database.run(DEFERRED)
    with pytest.raises(StoreUnavailable, match="no such seat"):
        async with client.transaction() as transaction:
            await transaction.execute("select set_config('app.tenant', 'acme', false)")
            await transaction.execute("insert into public.cart values ('pen')")
    assert await database.rows("select name from public.cart") == []
    assert await _asked(client, TRACES["tenant"].shown_by) == ""


async def test_a_commit_after_which_the_session_cannot_be_cleaned_is_a_commit(alters: None, database: Database) -> None:
    await database.run(BROKEN_CLEANING.format(name=database.name))
    backends = set()
    async with application(database.address).client() as client:
        for name in ("pen", "ink"):
            async with client.transaction() as transaction:
                await transaction.execute("insert into public.cart values ($1)", [name])
                backends.add((await transaction.execute(BACKEND))[0])
    assert await database.rows("select name from public.cart") == [("pen",), ("ink",)]
    assert len(backends) == 2


async def test_commit_and_cleaning_are_one_message(client: Client) -> None:
    """Three messages: the one that begins it, the statement of the application, and the one that ends it."""
    store = session_of(client).store
    assert isinstance(store, PostgresStore)
    async with client.transaction() as transaction:
        await transaction.execute("select 1")
    before = store.statements
    async with client.transaction() as transaction:
        await transaction.execute("select 1")
    assert store.statements - before == 3


async def _prepare(connection: Any) -> None:
    await connection.execute("prepare mine as select 1")


async def _decode(connection: Any) -> None:
    await connection.set_type_codec("int4", schema="pg_catalog", encoder=str, decoder=lambda text: f"<{text}>")


async def _listen(connection: Any) -> None:
    await connection.add_listener("news", lambda *_: None)


@pytest.mark.parametrize("leave", [_prepare, _decode, _listen])
async def test_settings_of_the_drivers_connection_are_reset(
    client: Client, leave: Callable[[Any], Awaitable[None]]
) -> None:
    for _ in range(2):
        async with client.transaction() as transaction:
            assert await transaction.execute("select 1") == [(1,)]
            assert await transaction.execute("select pg_listening_channels()") == []
            assert isinstance(transaction, PostgresTransaction)
            await leave(transaction.connection)


async def test_a_tenant_that_one_step_set_is_unknown_to_the_next(database: Database) -> None:
    await database.run("create table public.seen (tenant text)")

    @step(transaction=True)
    async def as_tenant(transaction: Any, tenant: str) -> None:
        await transaction.execute("select set_config('app.tenant', $1, false)", [tenant])

    @step(transaction=True)
    async def as_nobody(transaction: Any) -> None:
        await transaction.execute("insert into public.seen select current_setting('app.tenant', true)")

    @workflow
    async def tenants() -> None:
        await as_tenant("acme")
        await as_nobody()

    app = App("shop", workflows=[tenants], store=database.address, **SETTINGS)
    async with app.running(), app.client() as client:
        await (await client.submit(tenants)).result(timeout=BOUND)
    ((tenant,),) = await database.rows("select tenant from public.seen")
    assert not tenant


async def _asked(client: Client, sql: str) -> Any:
    async with client.transaction() as transaction:
        ((found,),) = await transaction.execute(sql)
        return found
