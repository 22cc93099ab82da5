"""Looks at a queue stay short while an old snapshot keeps what was deleted, and pass over no message."""

from __future__ import annotations

import time
from statistics import median

import pytest

from stepward.store.postgres import PostgresStore
from stepward.store.postgres.hot import queue_watermarks
from stepward.store.postgres.hot.queue_watermarks import BOTTOM
from tests.store.postgres.worlds import Database

pytestmark = pytest.mark.servers

LEASE = 30.0
MANY = 200_000
PUT = "insert into stepward_shop.message (queue, body) select 'q', 'x' from generate_series(1, {count})"


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look at a queue raises its watermark, if it can."""
    monkeypatch.setattr(queue_watermarks, "SLOW_SECONDS", 0.0)
    monkeypatch.setattr(queue_watermarks, "EVERY_SECONDS", 0.0)


async def _drained(database: Database, count: int = 3) -> PostgresStore:
    """A store whose queue was drained, with a watermark above what stood there."""
    store = await database.opened()
    await database.rows(PUT.format(count=count))
    while taken := await store.messages.take("q", 10_000, LEASE):
        await store.messages.settle("q", [message.token for message in taken])
    for _ in range(2):
        await store.messages.take("q", 1, LEASE)
    return store


def _floor(store: PostgresStore) -> int:
    return store.messages._watermarks._of("q").watermark.token


async def _taken(store: PostgresStore) -> list[bytes]:
    return [message.body for message in await store.messages.take("q", 9, LEASE)]


async def test_a_message_that_comes_after_the_floor_was_raised_is_found(database: Database) -> None:
    store = await _drained(database)
    assert _floor(store) >= 3
    await store.messages.put("q", [(b"new", None)])
    assert await _taken(store) == [b"new"]


async def test_a_message_whose_transaction_commits_late_is_found(database: Database) -> None:
    writer = await database.connect()
    store = await database.opened()
    await writer.execute("begin")
    await writer.execute("insert into stepward_shop.message (queue, body) values ('q', 'late')")
    await store.messages.put("q", [(b"early", None)])
    assert await _taken(store) == [b"early"]
    for _ in range(3):
        assert await _taken(store) == []
    assert _floor(store) == 0
    await writer.execute("commit")
    assert await _taken(store) == [b"late"]


async def test_a_message_whose_taking_was_rolled_back_is_found(database: Database) -> None:
    store = await _drained(database)
    await store.messages.put("q", [(b"kept", None)])
    writer = await database.connect()
    for _ in range(2):
        await writer.execute("begin")
        await writer.execute("update stepward_shop.message set taken_until = 9e9 where queue = 'q'")
        assert await _taken(store) == []
        await writer.execute("rollback")
    assert await _taken(store) == [b"kept"]


async def test_a_message_that_was_adopted_is_found(database: Database) -> None:
    before = await database.opened()
    await before.messages.put("old", [(b"first", None), (b"second", None)])
    store = await _drained(database)
    assert _floor(store) >= 5
    assert await store.messages.adopt("old", "q") == 2
    assert await _taken(store) == [b"first", b"second"]


async def test_a_message_whose_lease_ran_out_is_found(database: Database) -> None:
    store = await _drained(database)
    await store.messages.put("q", [(b"again", None)])
    assert [message.body for message in await store.messages.take("q", 1, 0.01)] == [b"again"]
    found: list[bytes] = []
    while not found:
        found = await _taken(store)
    assert found == [b"again"]


async def test_a_new_connection_may_be_to_another_server(database: Database) -> None:
    store = await _drained(database)
    assert store.messages._watermarks._of("q").watermark != BOTTOM
    store._database.others.pool.made += 1
    assert store.messages._watermarks._of("q").watermark == BOTTOM


@pytest.mark.faults
async def test_after_200000_messages_under_an_open_snapshot_a_look_stays_short(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue_watermarks, "SLOW_SECONDS", 0.002)
    old = await database.connect()
    await database.opened()
    await old.execute("begin isolation level repeatable read")
    await old.execute("select count(*) from stepward_shop.message")
    store = await _drained(database, MANY)
    monkeypatch.setattr(queue_watermarks, "EVERY_SECONDS", 0.5)
    looks = []
    for _ in range(100):
        began = time.perf_counter()
        assert await _taken(store) == []
        looks.append(time.perf_counter() - began)
    print(f"a look takes {median(looks) * 1000:.2f} ms, the longest {max(looks) * 1000:.1f} ms")
    assert median(looks) < 0.005
    await old.execute("rollback")
