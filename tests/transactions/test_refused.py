"""What cannot be submitted in is refused in one clear line, and the caller's transaction goes on."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import asyncpg
import psycopg
import pytest
import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from stepward import App, Client
from stepward.errors import Refused, StepwardError, StoreUnavailable
from tests.store.postgres.server import Server
from tests.store.postgres.worlds import Database
from tests.transactions.application import application, order
from tests.transactions.conftest import CART, Opened
from tests.transactions.connections import Desk, OnAlchemyAsyncSession, OnAlchemySession, OnDjango, OnPsycopg

pytestmark = pytest.mark.servers


async def refusal(desk: Desk, **options: Any) -> str:
    with pytest.raises(StepwardError) as raised:
        await desk.submit(order, "pen", **options)
    return _line(raised.value)


def _line(error: StepwardError) -> str:
    assert "\n" not in str(error)
    assert len(str(error)) < 500
    return str(error)


async def goes_on(desk: Desk, database: Database, name: str | None = None) -> None:
    """The transaction still commits what it wrote."""
    await desk.run("insert into public.cart values ('after')")
    await desk.commit()
    connection = await asyncpg.connect(database.server.address(name or database.name))
    try:
        assert [row[0] for row in await connection.fetch("select name from public.cart")] == ["before", "after"]
    finally:
        await connection.close()


async def begun(desk: Desk) -> None:
    await desk.begin()
    await desk.run("insert into public.cart values ('before')")


async def test_autocommit(desk: Desk, client: Client) -> None:
    await desk.autocommit()
    assert await refusal(desk) == (
        "transaction: expected an open transaction, found the connection in autocommit; begin one around it"
    )
    assert await client.tasks() == []


async def test_a_transaction_that_failed(desk: Desk, client: Client) -> None:
    await begun(desk)
    with pytest.raises(Exception, match="division by zero"):
        await desk.run("select 1 / 0")
    assert "found that an earlier statement failed in it" in await refusal(desk)
    await desk.roll_back()
    assert await client.tasks() == []


async def test_a_transaction_that_only_reads(desk: Desk, client: Client) -> None:
    await desk.begin()
    await desk.run("set transaction read only")
    assert "found one that only reads" in await refusal(desk)
    await desk.run("select 1")
    await desk.commit()
    assert await client.tasks() == []


async def test_a_connection_that_was_closed(desk: Desk, client: Client) -> None:
    if isinstance(desk, OnAlchemySession | OnAlchemyAsyncSession):
        pytest.skip("a session that was closed begins again")
    await begun(desk)
    await desk.shut()
    line = await refusal(desk)
    assert line.startswith("transaction: expected an open connection with nothing else under way, found")


async def test_a_database_without_the_store(opened: Opened, server: Server, database: Database, client: Client) -> None:
    other = await server.create()
    await server.execute(CART, other)
    desk = await opened(server.address(other))
    await begun(desk)
    assert await refusal(desk) == (
        f"transaction: expected a connection to the database of store {client_place(database)}, found one without the "
        "schema stepward_shop; connect to the store's, or use an outbox"
    )
    await goes_on(desk, database, other)


async def test_a_database_with_a_store_of_the_same_name(
    opened: Opened, server: Server, database: Database, client: Client
) -> None:
    other = await server.create()
    await server.execute(CART, other)
    async with application(server.address(other)).client() as elsewhere:
        desk = await opened(server.address(other))
        await begun(desk)
        line = await refusal(desk)
        assert line.startswith(f"transaction: expected a connection to the database of store {client_place(database)}")
        assert "found one whose schema stepward_shop is another store" in line
        await goes_on(desk, database, other)
        assert (await elsewhere.tasks(), await client.tasks()) == ([], [])


@pytest.mark.usefixtures("alters")
async def test_a_schema_that_is_older(desk: Desk, database: Database, client: Client) -> None:
    await database.run("alter table stepward_shop.task drop column fairness_key")
    await begun(desk)
    assert "found it older; run `stepward migrate`" in await refusal(desk)
    await goes_on(desk, database)


async def test_a_user_without_rights(desk: Desk, database: Database, client: Client) -> None:
    await database.run(
        """create role clerk; grant all on public.cart to clerk; grant usage on schema stepward_shop to clerk;
        grant select, insert on stepward_shop.task to clerk"""
    )
    try:
        await desk.begin()
        await desk.run("set local role clerk")
        await desk.run("insert into public.cart values ('before')")
        line = await refusal(desk)
        assert "expected the user's rights on stepward_shop, found" in line
        assert "grant usage on the schema, and select and insert on its tables task, step and message" in line
        await goes_on(desk, database)
    finally:
        await database.run("drop owned by clerk; drop role clerk")


async def test_the_rights_that_the_line_names_are_enough(desk: Desk, database: Database, client: Client) -> None:
    await database.run(
        """create role clerk; grant usage on schema stepward_shop to clerk;
        grant select, insert on stepward_shop.task, stepward_shop.step, stepward_shop.message to clerk"""
    )
    try:
        await desk.begin()
        await desk.run("set local role clerk")
        await desk.submit(order, "pen", id="o", reply_to="replies.shop.x")
        await desk.submit(order, "pen", id="o", reply_to="replies.shop.x")
        await desk.commit()
        assert [task.id for task in await client.tasks()] == ["o"]
    finally:
        await database.run("drop owned by clerk; drop role clerk")


@pytest.mark.usefixtures("alters")
async def test_data_that_the_tables_do_not_take(desk: Desk, database: Database, client: Client) -> None:
    await database.run("alter table stepward_shop.task add constraint small check (priority < 9)")
    await begun(desk)
    assert "expected data that the tables allow, found " in (line := await refusal(desk, priority=9))
    assert line.endswith('violates check constraint "small"; correct the data')
    await goes_on(desk, database)


async def test_rows_that_changed_since_a_snapshot(desk: Desk, database: Database, client: Client) -> None:
    await desk.begin()
    await desk.run("set transaction isolation level repeatable read")
    await desk.run("insert into public.cart values ('before')")
    await client.submit(order, "pen", id="o")
    with pytest.raises(StoreUnavailable, match="found them changed since; begin it again"):
        await desk.submit(order, "pen", id="o")
    await goes_on(desk, database)


async def test_arguments_that_do_not_fit_cost_the_transaction_nothing(
    desk: Desk, database: Database, client: Client
) -> None:
    await begun(desk)
    for args, options in (((), {}), ((5,), {}), (("pen",), {"id": "?"}), (("pen",), {"reply_to": "elsewhere"})):
        with pytest.raises(Refused):
            await desk.submit(order, *args, **options)
    await goes_on(desk, database)


def client_place(database: Database) -> str:
    return database.address.replace("postgres@", "")


OTHER_THINGS = [object(), 5, "default", {}, asyncpg, sqlalchemy.create_engine("postgresql+psycopg://")]


@pytest.mark.parametrize("thing", OTHER_THINGS, ids=lambda thing: type(thing).__name__)
async def test_what_is_no_connection(client: Client, app: App, thing: object) -> None:
    accepted = re.escape(
        "transaction: expected client.transaction(), or an open connection or session of asyncpg, psycopg 3, "
        "SQLAlchemy 2 or Django on PostgreSQL, found "
    )
    with pytest.raises(Refused, match=accepted) as raised:
        await client.submit(order, "pen", transaction=thing)
    assert _line(raised.value).endswith("; give one of them")
    with app.sync_client() as blocking, pytest.raises(Refused, match=accepted):
        blocking.submit(order, "pen", transaction=thing)


async def test_a_blocking_transaction_of_ours_in_an_asynchronous_client(client: Client, app: App) -> None:
    with (
        app.sync_client() as blocking,
        blocking.transaction() as transaction,
        pytest.raises(Refused, match=r"found stepward\.SyncTransaction"),
    ):
        await client.submit(order, "pen", transaction=transaction)


async def test_a_session_that_is_bound_by_its_tables(client: Client) -> None:
    for session in (Session(), AsyncSession()):
        with pytest.raises(Refused, match=r"found one bound by its tables; give the connection that session\.conn"):
            await client.submit(order, "pen", transaction=session)


async def test_another_kind_of_database(client: Client, tmp_path: Path) -> None:
    engine = sqlalchemy.create_engine("sqlite://")
    with engine.connect() as connection, pytest.raises(Refused, match=r"found sqlalchemy\.Connection on sqlite; wh"):
        await client.submit(order, "pen", transaction=connection)
    engine.dispose()


async def test_an_awaited_connection_in_a_blocking_client(app: App, database: Database) -> None:
    connection = await database.connect()
    async with connection.transaction():
        with (
            app.sync_client() as blocking,
            pytest.raises(Refused, match=r"expected a connection that blocks, found asyncpg\.Conn.*use app\.client"),
        ):
            blocking.submit(order, "pen", transaction=connection)


async def test_a_blocking_connection_in_an_asynchronous_client(client: Client, database: Database) -> None:
    with psycopg.connect(database.address) as connection:
        await client.submit(order, "pen", id="o", transaction=connection)
    assert [task.id for task in await client.tasks()] == ["o"]


async def test_a_connection_of_django_where_a_loop_runs(client: Client, app: App, database: Database) -> None:
    desk = OnDjango()
    desk.connect(database.address)
    with pytest.raises(Refused, match="found SynchronousOnlyOperation: You cannot call this from an async context"):
        await client.submit(order, "pen", transaction=desk.given)


async def test_a_connection_that_is_in_use(client: Client, database: Database) -> None:
    connection = await database.connect()
    async with connection.transaction():
        sleeping = asyncio.ensure_future(connection.execute("select pg_sleep(60)"))
        await asyncio.sleep(0)
        with pytest.raises(Refused, match="found InterfaceError: cannot perform operation: another operation"):
            await client.submit(order, "pen", transaction=connection)
        sleeping.cancel()
        await asyncio.gather(sleeping, return_exceptions=True)
        await connection.execute("rollback")


async def test_an_sqlite_store(tmp_path: Path, database: Database) -> None:
    desk = OnPsycopg()
    app = application(f"sqlite:///{tmp_path}/store.db")
    await desk.open(app, database.address)
    expected = r"expected one of client\.transaction\(\), as the store is an SQLite file, found psycopg\.Connection"
    with pytest.raises(Refused, match=expected):
        await desk.submit(order, "pen")
    await desk.close()
    async with app.client() as client, client.transaction() as transaction:
        with pytest.raises(Refused, match=expected.replace("psycopg", "asyncpg")):
            await client.submit(order, "pen", transaction=await database.connect())
        await client.submit(order, "pen", id="o", transaction=transaction)


async def test_a_connection_in_pipeline_mode(client: Client, database: Database) -> None:
    connection = await psycopg.AsyncConnection.connect(database.address)
    try:
        async with connection.transaction(), connection.pipeline():
            with pytest.raises(Refused, match="leave the pipeline first"):
                await client.submit(order, "pen", transaction=connection)
            await connection.execute("insert into public.cart values ('after')")
    finally:
        await connection.close()
    assert await database.rows("select name from public.cart") == [("after",)]
