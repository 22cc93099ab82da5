"""``stepward check`` warns of what keeps a real server from removing deleted rows, and of a slot without a reader."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from stepward.store.contract import Bloat, Server
from stepward.store.postgres.server import vacuum
from stepward.store.store_at_address import inspect
from tests.store.postgres.worlds import Database

pytestmark = pytest.mark.servers


@pytest.fixture
async def held(database: Database, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Database]:
    """A store, and transactions that are long after no time."""
    monkeypatch.setattr(vacuum, "LONG_SECONDS", 0.0)
    monkeypatch.setattr(vacuum, "MANY_ROWS", 100)
    store = await database.opened()
    await store.close()
    yield database


async def _inspected(database: Database) -> Server:
    server = await asyncio.to_thread(inspect, database.address)
    assert server is not None
    return server


async def test_a_long_snapshot_is_found(held: Database) -> None:
    connection = await held.connect()
    await connection.execute("set application_name = 'report'; begin isolation level repeatable read; select 1")
    (hold,) = (await _inspected(held)).holds
    assert (hold.kind, hold.name, hold.by) == ("transaction", str(connection.get_server_pid()), "report, user postgres")
    assert hold.seconds is not None
    await connection.execute("rollback")
    assert (await _inspected(held)).holds == []


async def test_a_slot_without_a_reader_is_found(held: Database) -> None:
    await held.rows(f"select pg_create_physical_replication_slot('forgotten_{held.name}', true)")
    try:
        holds = [hold for hold in (await _inspected(held)).holds if hold.name == f"forgotten_{held.name}"]
        assert [(hold.kind, hold.by) for hold in holds] == [("slot", "physical")]
        assert holds[0].kept is not None
    finally:
        await held.rows(f"select pg_drop_replication_slot('forgotten_{held.name}')")


async def test_dead_rows_that_are_not_removed_are_found(held: Database) -> None:
    await held.rows("insert into stepward_shop.message (queue, body) select 'q', '' from generate_series(1, 300)")
    await held.rows("delete from stepward_shop.message")
    await held.rows("select pg_stat_force_next_flush()")
    async with asyncio.timeout(20):
        while not (found := (await _inspected(held)).bloat):
            pass
    assert found == [Bloat(table="message", dead=300, live=0)]


async def test_autovacuum_that_is_off_is_found(held: Database) -> None:
    """The tests' servers do without it."""
    assert not (await _inspected(held)).autovacuum
