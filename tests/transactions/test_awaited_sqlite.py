"""AsyncSession and AsyncConnection on a file, as with aiosqlite: an outbox takes them, a store says why it does not."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession

from stepward import App, Outbox, workflow
from stepward.errors import Refused
from stepward.outbox import outbox_table
from tests.transactions.awaited_sqlite import engine_on

Opened = Callable[[AsyncEngine], Any]
KINDS: list[Opened] = [AsyncSession, AsyncEngine.connect]


@workflow
async def order(name: str) -> str:
    return f"{name} is on its way"


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[AsyncEngine]:
    with sqlite3.connect(tmp_path / "business.db") as connection:
        connection.executescript(f"create table cart (name text); {outbox_table('sqlite')}")
    connection.close()
    engine = engine_on(tmp_path / "business.db")
    yield engine
    await engine.dispose()


@pytest.mark.parametrize("opened", KINDS)
async def test_a_row_and_its_task_commit_together_or_not_at_all(
    engine: AsyncEngine, opened: Opened, tmp_path: Path
) -> None:
    app = App("shop", workflows=[order], store=f"sqlite:///{tmp_path / 'shop.db'}")
    app.relay(f"sqlite:///{tmp_path / 'business.db'}")
    async with opened(engine) as given:
        for name, ends in (("lost", given.rollback), ("pen", given.commit)):
            await given.execute(text("insert into cart values (:name)"), {"name": name})
            assert await Outbox("shop").put(given, order, name, id=name) == name
            await ends()
        assert [tuple(row) for row in await given.execute(text("select name from cart"))] == [("pen",)]
    async with app.running(), app.client() as client, asyncio.timeout(30):
        while not await client.tasks():  # noqa: ASYNC110  the relay gets no notification
            await asyncio.sleep(0.01)
        assert [task.id for task in await client.tasks()] == ["pen"]
        assert await client.task("pen").result() == "pen is on its way"


async def test_one_in_autocommit_is_refused(engine: AsyncEngine) -> None:
    async with engine.connect() as given:
        file = (await given.get_raw_connection()).driver_connection
        assert file is not None
        file._conn.isolation_level = None
        with pytest.raises(Refused, match="found the connection in autocommit; begin one around your rows"):
            await Outbox("shop").put(given, order, "pen")


@pytest.mark.parametrize("opened", KINDS)
async def test_a_store_in_a_file_says_that_it_takes_none_and_what_does(
    engine: AsyncEngine, opened: Opened, tmp_path: Path
) -> None:
    app = App("shop", workflows=[order], store=f"sqlite:///{tmp_path / 'shop.db'}")
    async with app.client() as client, opened(engine) as given:
        with pytest.raises(
            Refused,
            match=r"^transaction: expected one of client.transaction\(\), as the store is an SQLite file, found "
            r"sqlalchemy.Async\w+; write your rows through that one too, or keep an outbox where they are$",
        ):
            await client.submit(order, "pen", transaction=given)
