"""Every file of examples/transactions, run on a real server: an order that is placed, and one that is not."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import asyncpg
import psycopg
import pytest
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import create_async_engine

from examples import transactions
from examples.transactions import (
    with_asyncpg,
    with_django,
    with_outbox,
    with_psycopg,
    with_psycopg_async,
    with_sqlalchemy,
    with_sqlalchemy_async,
    with_sqlalchemy_session,
)
from examples.transactions.shop import TABLE, shop
from stepward import App, SyncClient
from tests.store.postgres.worlds import Database
from tests.transactions.connections import OnDjango

pytestmark = pytest.mark.servers

BOUND = 120.0
DONE = "teapot for A-1 is on its way"


@pytest.fixture
async def app(database: Database) -> App:
    await database.run(TABLE)
    return shop(database.address)


async def _both_or_neither(app: App, database: Database) -> None:
    async with app.client() as client:
        assert [task.id for task in await client.tasks()] == ["A-1"]
    assert await database.rows("select id, product, quantity from shop_order") == [("A-1", "teapot", 2)]


async def _placed(app: App, database: Database, place: Any, *connection: Any) -> None:
    """An order that is fulfilled, and one that is rolled back, with an asynchronous client."""
    async with app.running(), app.client() as client:
        handle = await place(*connection, client, "A-1", "teapot", 2)
        with pytest.raises(ValueError, match="expected 1 or more"):
            await place(*connection, client, "A-2", "teapot", 0)
        assert await handle.result(timeout=BOUND) == DONE
    await _both_or_neither(app, database)


async def _placed_blocking(app: App, database: Database, place: Any, *connection: Any) -> None:
    """The same in a thread without a loop."""

    def work(client: SyncClient) -> None:
        handle = place(*connection, client, "A-1", "teapot", 2)
        with pytest.raises(ValueError, match="expected 1 or more"):
            place(*connection, client, "A-2", "teapot", 0)
        assert handle.result(timeout=BOUND) == DONE

    async with app.running():
        await asyncio.to_thread(_with_client, app, work)
    await _both_or_neither(app, database)


def _with_client(app: App, work: Any) -> None:
    with app.sync_client() as client:
        work(client)


async def test_asyncpg(app: App, database: Database) -> None:
    connection = await asyncpg.connect(database.address)
    await _placed(app, database, with_asyncpg.place, connection)
    await connection.close()


async def test_psycopg(app: App, database: Database) -> None:
    with psycopg.connect(database.address) as connection:
        await _placed_blocking(app, database, with_psycopg.place, connection)


async def test_psycopg_async(app: App, database: Database) -> None:
    async with await psycopg.AsyncConnection.connect(database.address) as connection:
        await _placed(app, database, with_psycopg_async.place, connection)


@pytest.mark.parametrize("place", [with_sqlalchemy.place, with_sqlalchemy_session.place], ids=["core", "session"])
async def test_sqlalchemy(app: App, database: Database, place: Any) -> None:
    engine = create_engine(database.address.replace("://", "+psycopg://"))
    await _placed_blocking(app, database, place, engine)
    engine.dispose()


@pytest.mark.parametrize("driver", ["asyncpg", "psycopg"])
@pytest.mark.parametrize("place", [with_sqlalchemy_async.place, with_sqlalchemy_async.place_object])
async def test_sqlalchemy_async(app: App, database: Database, place: Any, driver: str) -> None:
    engine = create_async_engine(database.address.replace("://", f"+{driver}://"))
    await _placed(app, database, place, engine)
    await engine.dispose()


async def test_django(app: App, database: Database) -> None:
    def place(client: SyncClient, *order: Any) -> Any:
        return with_django.place(client, *order)

    def work(client: SyncClient) -> None:
        desk = OnDjango()
        desk.connect(database.address)
        try:
            handle = place(client, "A-1", "teapot", 2)
            with pytest.raises(ValueError, match="expected 1 or more"):
                place(client, "A-2", "teapot", 0)
            assert handle.result(timeout=BOUND) == DONE
        finally:
            desk.disconnect()

    async with app.running():
        await asyncio.to_thread(_with_client, app, work)
    await _both_or_neither(app, database)


async def test_outbox(app: App, database: Database, tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "orders.db")
    with_outbox.set_up(connection)
    relayed = with_outbox.relayed_shop(database.address, f"sqlite:///{tmp_path}/orders.db")
    assert with_outbox.place(connection, "A-1", "teapot", 2) == "A-1"
    with pytest.raises(ValueError, match="expected 1 or more"):
        with_outbox.place(connection, "A-2", "teapot", 0)
    assert connection.execute("select id from shop_order").fetchall() == [("A-1",)]
    connection.close()
    async with relayed.running(), relayed.client() as client, asyncio.timeout(BOUND):
        while not await client.tasks():  # noqa: ASYNC110  the relay gets no notification
            await asyncio.sleep(0.01)
        assert await client.task("A-1").result() == DONE
        assert len(await client.tasks()) == 1


def test_each_file_is_run_here() -> None:
    files = {path.stem for path in Path(str(transactions.__file__)).parent.glob("with_*.py")}
    assert files == {name for name in globals() if name.startswith("with_")}
