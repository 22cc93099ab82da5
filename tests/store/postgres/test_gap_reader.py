"""Rows whose transactions commit in another order than their numbers are read all the same, each once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

import pytest

from servers.postgres import running
from stepward.errors import StoreUnavailable
from stepward.store.postgres.hot.gap_reader import GapLook, GapReader
from tests.store.conformance.world import World, claimed, scheduler
from tests.store.postgres.worlds import Database

pytestmark = pytest.mark.servers

T = TypeVar("T")


def test_a_reader_asks_for_what_its_last_look_could_not_see() -> None:
    trail = GapReader()
    first = trail.look("me", 0)
    assert first == GapLook("me", (0,), 0, None, None)
    trail.saw(first, "one", [3, 4], limit=9)
    second = trail.look("me", 4)
    assert (second.above, second.since) == (0, "one")
    trail.saw(second, "two", [2], limit=9)
    assert trail.look("me", 4).since == trail.look("me", 2).since == "two"
    assert trail.look("other", 4).since is None


def test_a_reader_that_reads_from_elsewhere_starts_again() -> None:
    trail = GapReader()
    trail.saw(trail.look("me", 0), "one", [3, 4], limit=9)
    assert trail.look("me", 3) == GapLook("me", (3,), 3, None, None, begun=3)


def test_after_a_connection_was_made_everything_is_looked_at_and_nothing_given_twice() -> None:
    trail = GapReader()
    trail.saw(trail.look("me", 0, 1), "one", [3, 4], limit=9)
    again = trail.look("me", 4, 2)
    assert (again.above, again.since) == (0, None)
    assert again.new([3, 4, 7]) == [7]
    trail.saw(again, "two", [3, 4, 7], limit=9)
    assert trail.look("me", 7, 2).since == "two"


def test_two_looks_at_once_each_give_what_they_find() -> None:
    """A reader that is broken off and asks again does so while its first look is on its way."""
    trail = GapReader()
    one, other = trail.look("me", 0), trail.look("me", 0)
    trail.saw(one, "one", one.new([3]), limit=9)
    assert other.new([3]) == [3]


def test_more_than_a_look_can_give_is_given_in_turns_and_nothing_passed_over() -> None:
    trail = GapReader()
    trail.saw(trail.look("me", 0), "one", [1, 2], limit=2)
    more = trail.look("me", 2)
    assert (more.above, more.since) == (2, None)
    trail.saw(more, "two", [3], limit=2)
    # What came below the second number while the second look was on its way was not visible to the first.
    assert (trail.look("me", 3).above, trail.look("me", 3).since) == (0, "one")


async def test_an_inbox_row_that_commits_late_is_read(database: Database) -> None:
    world = World(lambda environment: database.store())
    store = await database.opened()
    await scheduler(store)
    late, early = await claimed(world, store), await claimed(world, store)
    beside = await database.connect()
    await beside.execute("begin")
    await beside.execute(INSERT, late.uid)
    assert await store.client.signal(early.id, "paid", b"1", None)
    (first,) = await store.scheduler.read_inbox("s1", 0)
    await beside.execute("commit")
    (second,) = await store.scheduler.read_inbox("s1", first.number)
    assert (second.task, second.number < first.number) == (late.uid, True)
    assert await store.scheduler.read_inbox("s1", first.number) == []


async def test_a_message_that_commits_late_is_read(database: Database) -> None:
    store = await database.opened()
    beside = await database.connect()
    await beside.execute("begin")
    await beside.execute("insert into stepward_shop.message (queue, body) values ('q', 'late')")
    await store.messages.put("q", [(b"early", None)])
    (first,) = await store.messages.read("q", 0, 9)
    await beside.execute("commit")
    (second,) = await store.messages.read("q", first.token, 9)
    assert [first.body, second.body] == [b"early", b"late"]
    assert await store.messages.read("q", second.token, 9) == []


@pytest.mark.parametrize("limit", [1, 2, 3])
async def test_messages_are_read_in_pages(database: Database, limit: int) -> None:
    store = await database.opened()
    await store.messages.put("q", [(b"%d" % number, None) for number in range(5)])
    found: list[bytes] = []
    after = 0
    while page := await store.messages.read("q", after, limit):
        found += [message.body for message in page]
        after = page[-1].token
    assert sorted(set(found)) == [b"0", b"1", b"2", b"3", b"4"]
    assert found[:5] == [b"0", b"1", b"2", b"3", b"4"]


INSERT = "insert into stepward_shop.inbox (task, kind, name, body, sender) values ($1, 'signal', 'late', '1', '')"


async def test_a_message_is_read_whose_transaction_has_the_number_of_one_that_died_with_the_server() -> None:
    """A crash takes the numbers along that nothing was written of, and they are given again."""
    with running() as server:
        database = Database(cast(Any, server), "postgres")
        store = await database.opened()
        await store.messages.put("orders", [(b"before", None)])
        (before,) = await store.messages.read("orders", 0, 10)
        burning = await database.connect()
        for _ in range(100):
            async with burning.transaction():
                await burning.fetchval("select pg_current_xact_id()::text")
        assert await store.messages.read("orders", before.token, 10) == []
        await asyncio.to_thread(server.stop, immediate=True)
        await asyncio.to_thread(server.start)
        await _at_last(lambda: store.messages.put("orders", [(b"after", None)]))
        (after,) = await _at_last(lambda: store.messages.read("orders", before.token, 10))
        assert after.body == b"after"
        assert await store.messages.read("orders", after.token, 10) == []
        await database.close()


async def _at_last(ask: Callable[[], Awaitable[T]]) -> T:
    """Ask until the server answers: connections that died with it are noticed one after the other."""
    async with asyncio.timeout(60):
        while True:
            try:
                return await ask()
            except StoreUnavailable:
                await asyncio.sleep(0.05)
