"""Two processes at one file: each waits for the other's transaction, never for its own."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import apsw
import pytest

from stepward.store.sqlite import SqliteStore
from tests.store.listing import listed
from tests.store.places import opened
from tests.virtual import settle


async def _insert(store: SqliteStore) -> None:
    async with store.client.transaction() as transaction:
        await transaction.execute("insert into app values (1)")


async def test_a_transaction_begins_when_another_process_ends_its_own(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    here, there = await opened(path), await opened(path)
    async with there.client.transaction() as transaction:
        await transaction.execute("create table app (x)")
        waiting = asyncio.create_task(_insert(here))
        await settle()
        assert not waiting.done()
    async with asyncio.timeout(2):
        await waiting
    async with there.client.transaction() as transaction:
        assert await transaction.execute("select x from app") == [(1,)]
    await here.close()
    await there.close()


async def test_a_transaction_whose_loop_hangs_is_broken_off_by_a_thread(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    here = await opened(path)
    other = apsw.Connection(str(path))
    assert not here.host.break_off()
    with pytest.raises(apsw.ConnectionClosedError):
        async with here.client.transaction() as transaction:
            await transaction.execute("create table app (x)")
            thread = threading.Thread(target=here.host.break_off)
            thread.start()
            thread.join()
            other.execute("create table app (x)")
            await transaction.execute("insert into app values (1)")
    assert other.execute("select x from app").fetchall() == []
    other.close()
    await here.close()


async def test_a_read_waits_for_no_writer(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    here = await opened(path)
    async with here.client.transaction() as transaction:
        await transaction.execute("create table app (x)")
        async with asyncio.timeout(2):
            there = await opened(path)
            assert await listed(there) == []
    await here.close()
    await there.close()
