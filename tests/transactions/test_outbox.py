"""Writing into the outbox: with the caller's own rows or not at all, on every kind of connection."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from sqlalchemy.orm import Session

from stepward import App, Client, Outbox, SyncOutbox, TaskHandle
from stepward.client import session_of
from stepward.errors import Refused
from stepward.outbox import Relay, outbox_table
from tests.store.postgres.server import Server
from tests.store.postgres.worlds import Database
from tests.transactions.application import application, limited, order
from tests.transactions.conftest import Opened
from tests.transactions.connections import Awaited, BlockingKind, Desk

pytestmark = pytest.mark.servers

ROWS = "select app, id, body from stepward_outbox order by number"


@pytest.fixture
async def business(server: Server) -> Any:
    """A database in which no store is, but an outbox."""
    database = Database(server, await server.emptied("business"))
    await database.run(outbox_table("postgresql"))
    yield database
    await database.close()


async def put(desk: Desk, *args: Any, **options: Any) -> str:
    if isinstance(desk, BlockingKind):
        return await desk.do(lambda: SyncOutbox("shop").put(desk.given, *args, **options))
    assert isinstance(desk, Awaited)
    return await Outbox("shop").put(desk.given, *args, **options)


async def test_rows_and_entry_commit_together(opened: Opened, business: Database, app: App, client: Client) -> None:
    desk = await opened(business.address)
    await business.run("create table cart (name text)")
    await desk.begin()
    await desk.run("insert into cart values ('lost')")
    await put(desk, order, "lost", id="lost")
    await desk.roll_back()
    await desk.begin()
    await desk.run("insert into cart values ('pen')")
    assert await put(desk, order, "pen", id="o") == "o"
    await desk.commit()
    assert await business.rows("select name from cart") == [("pen",)]
    app.relay(business.address)
    async with app.running(), asyncio.timeout(30):
        handle: TaskHandle[Any] = client.task("o")
        while not await client.tasks():  # noqa: ASYNC110  the relay gets no notification
            await asyncio.sleep(0.01)
        assert await handle.result() == "packed pen"
        while await business.rows(ROWS):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert [task.id for task in await client.tasks()] == ["o"]


async def test_every_option_arrives(opened: Opened, business: Database, client: Client) -> None:
    desk = await opened(business.address)
    options: dict[str, Any] = {
        "priority": 9,
        "labels": {"city": "Köln ☂"},
        "fairness_key": "Ärzte %s :x",
        "delay": "1h",
        "reply_to": "replies.shop.x",
        "complete_by": "2h",
    }
    what = 'quoted "x" \\ \x00 ☂ %s :given $1'
    await client.submit(limited, what, id="ours", **options)
    await desk.begin()
    await put(desk, limited, what, id="theirs", **options)
    await desk.commit()
    async with Relay(client, business.address) as relay:
        await relay.run_once()
    ours, theirs = await session_of(client).record("ours"), await session_of(client).record("theirs")
    for name in ("workflow", "version", "state", "priority", "fairness_key", "labels", "input", "reply_to", "events"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert theirs.deadline is not None
    assert theirs.wake_at is not None
    assert theirs.deadline - theirs.created_at == pytest.approx(7200)
    assert theirs.wake_at - theirs.created_at == pytest.approx(3600)


async def test_autocommit_is_refused(opened: Opened, business: Database) -> None:
    desk = await opened(business.address)
    await desk.autocommit()
    with pytest.raises(Refused, match="expected an open transaction, found the connection in autocommit; begin one"):
        await put(desk, order, "pen")
    assert await business.rows(ROWS) == []


async def test_a_database_without_the_table(desk: Desk, database: Database) -> None:
    await desk.begin()
    await desk.run("insert into public.cart values ('before')")
    with pytest.raises(Refused, match="expected the table stepward_outbox, found none; create it with what"):
        await put(desk, order, "pen")
    await desk.commit()
    assert await database.rows("select name from public.cart") == [("before",)]


async def test_what_does_not_fit_is_refused_before_it_is_written(business: Database) -> None:
    connection = await business.connect()
    outbox = Outbox("shop")
    wrong: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((order,), {}),
        ((order, 5), {}),
        (("order",), {"what": "pen"}),
        ((order, "pen"), {"priority": 10}),
        ((order, "pen"), {"id": "?"}),
        ((order, "pen"), {"delay": "soon"}),
        ((order, "pen"), {"complete_by": "never"}),
        ((order, "pen"), {"delay": "2h", "complete_by": "1h"}),
        ((order, "pen"), {"complete_by": datetime(2030, 1, 1)}),  # noqa: DTZ001  the very mistake
        ((order, "pen"), {"reply_to": "elsewhere"}),
        ((order, "pen"), {"labels": {"a": 1}}),
        ((order, "pen"), {"fairness_key": ""}),
        ((order, "x" * 2_000_000), {}),
    ]
    async with connection.transaction():
        for args, options in wrong:
            with pytest.raises(Refused):
                await outbox.put(connection, *args, **options)
        await outbox.put(connection, "order", "pen", complete_by=datetime(2100, 1, 1, tzinfo=UTC))
    assert len(await business.rows(ROWS)) == 1


async def test_what_is_no_connection(business: Database) -> None:
    with pytest.raises(Refused, match=r"connection: expected an open connection .* found object; give one of them"):
        await Outbox("shop").put(object(), order, "pen")
    with pytest.raises(Refused, match=r"expected one that blocks, found asyncpg\.Connection, .*; use Outbox with it"):
        SyncOutbox("shop").put(await business.connect(), order, "pen")


@pytest.fixture
def file(tmp_path: Path) -> Iterator[str]:
    """An SQLite file with an outbox."""
    path = str(tmp_path / "business.db")
    connection = sqlite3.connect(path)
    connection.executescript(f"create table cart (name text); {outbox_table('sqlite')}")
    connection.close()
    yield path


async def _carried(file: str) -> list[str]:
    """The ids of the tasks that are made of what stands there."""
    store = application("sqlite:///file:/carried?vfs=memdb").client()
    async with store as client, Relay(client, f"sqlite:///{file}") as relay:
        await relay.run_once()
        return sorted(task.id for task in await client.tasks())


async def test_an_sqlite_file(file: str) -> None:
    connection = sqlite3.connect(file)
    outbox = SyncOutbox("shop")
    connection.execute("insert into cart values ('lost')")
    outbox.put(connection, order, "lost", id="lost")
    connection.rollback()
    outbox.put(connection, order, "pen", id="o")  # begins a transaction, as any insert of sqlite3 does
    connection.execute("insert into cart values ('pen')")
    connection.commit()
    assert connection.execute("select name from cart").fetchall() == [("pen",)]
    connection.close()
    assert await _carried(file) == ["o"]


async def test_an_sqlite_file_through_sqlalchemy(file: str) -> None:
    engine = sqlalchemy.create_engine(f"sqlite:///{file}")
    outbox = SyncOutbox("shop")
    with Session(engine) as session:
        outbox.put(session, order, "lost", id="lost")
        session.rollback()
        outbox.put(session, order, "pen", id="o")
        session.commit()
    with engine.connect() as connection, connection.begin():
        outbox.put(connection, order, "pen", id="o2")
    with (
        engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection,
        pytest.raises(Refused, match="found the connection in autocommit"),
    ):
        outbox.put(connection, order, "pen", id="o3")
    engine.dispose()
    assert await _carried(file) == ["o", "o2"]


async def test_an_sqlite_file_in_autocommit(file: str) -> None:
    connection = sqlite3.connect(file, isolation_level=None)
    outbox = SyncOutbox("shop")
    with pytest.raises(Refused, match="found the connection in autocommit"):
        outbox.put(connection, order, "pen", id="lost")
    connection.execute("begin")
    outbox.put(connection, order, "pen", id="o")
    connection.execute("commit")
    connection.close()
    assert await _carried(file) == ["o"]


async def test_an_sqlite_file_without_the_table(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "business.db")
    with pytest.raises(Refused, match="expected the table stepward_outbox, found none"):
        SyncOutbox("shop").put(connection, order, "pen")
    connection.close()
    # The relay makes it.
    assert await _carried(str(tmp_path / "business.db")) == []
    connection = sqlite3.connect(tmp_path / "business.db")
    SyncOutbox("shop").put(connection, order, "pen", id="o")
    connection.commit()
    connection.close()
    assert await _carried(str(tmp_path / "business.db")) == ["o"]
