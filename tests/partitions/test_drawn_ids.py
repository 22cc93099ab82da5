"""Ids that were drawn for tasks under a key and for forks: each is of one task, over all stores."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from stepward import Accepted, Agent, App, Client, Message, Singleton, StoreUnavailable, TaskConflict, workflow
from stepward.client import session_of
from stepward.clock import Environment
from stepward.store.contract import TaskSearch, Transaction
from stepward.store.partitions.placement import drawn_at, drawn_in, initial_shards, is_drawn, shard_of
from tests.until import until

tools = Agent("tools")


@tools.operation()
async def double(number: int) -> int:
    return 2 * number


@workflow
async def doubled(number: int) -> int:
    return await double(number)


@workflow
async def other(number: int) -> int:
    return number


async def accept(message: Message, transaction: Transaction) -> Accepted:
    return Accepted(doubled, message.read(int))


@pytest.fixture
def stores(tmp_path: Path) -> list[str]:
    return [f"sqlite:///{tmp_path / name}.db" for name in ("a", "b")]


def app_of(stores: Sequence[str]) -> App:
    app = App("tools", workflows=[doubled, other], agents=[tools], store=stores, poll=0.05)
    app.submission("numbers", accept=accept)
    return app


async def homes(client: Client) -> dict[str, list[int]]:
    """By id, the numbers of the partitions in which a task is."""
    whole: Any = session_of(client).store
    found: dict[str, list[int]] = {}
    for member in whole.partitions.members:
        for task in (await member.store.operators.tasks(TaskSearch(limit=1000))).tasks:
            found.setdefault(task.id, []).append(member.number)
    return found


def uids() -> Iterator[str]:
    return (Environment().new_uid() for _ in count())


def as_before(stores: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes of these the stores of an application whose processes draw ids wherever their tasks stand."""
    monkeypatch.setattr("stepward.store.partitions.drawn_ids.drawn_in", lambda uid, shards: uid)
    for store in stores:
        with closing(sqlite3.connect(store.removeprefix("sqlite:///"))) as connection, connection:
            connection.execute(
                "update stepward_meta set value = json_remove(value, '$.placed_since') where key = 'partition'"
            )


async def stray(client: Client) -> str:
    """The id of a task under a key that stands elsewhere than its id is placed."""
    for key in count():
        id = (await client.submit(doubled, 1, per_key=Singleton(f"key-{key}"))).id
        if shard_of(id) not in initial_shards(2)[(await homes(client))[id][0] - 1]:
            return id
    raise AssertionError


def test_a_drawn_id_has_its_time_and_other_last_digits_alone() -> None:
    for shard, uid in zip(range(256), uids(), strict=False):
        placed = drawn_in(uid, frozenset({shard}))
        assert shard_of(placed) == shard
        assert is_drawn(placed) and is_drawn(f"{placed}/child/1") and placed[:-4] == uid[:-4]
        assert drawn_at(placed) == drawn_at(uid)
    assert abs(drawn_at(Environment().new_uid()) - Environment().clock.wall()) < 60
    assert not any(map(is_drawn, ("order-1", "nightly@2026-01-01T00:00:00Z", f"nightly@{uid}")))


async def test_ids_drawn_for_keys_and_forks_are_placed_where_their_tasks_are(stores: list[str]) -> None:
    async with app_of(stores).running(), app_of(stores).client() as client:
        drawn = [await client.submit(doubled, 1, per_key=Singleton(f"key-{key}")) for key in range(8)]
        chosen = [await client.submit(doubled, 1, id=f"order-{number}") for number in range(4)]
        for handle in (*drawn, *chosen):
            assert await handle.result(timeout=30) == 2
            await handle.fork("tools.double/1")
        found = await homes(client)
        assert len(found) == 24 and {place for places in found.values() for place in places} == {1, 2}
        for id, places in found.items():
            assert [shard_of(id) in shards for shards in initial_shards(2)] == [1 in places, 2 in places], id
        again = [await client.submit(doubled, 1, id=id) for id in found if is_drawn(id)]
        assert len(again) == 20 and await homes(client) == found


async def test_an_id_drawn_by_an_earlier_version_is_of_the_task_that_has_it_wherever_that_is(
    stores: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with app_of(stores).client():
        as_before(stores, monkeypatch)
    async with app_of(stores).running(), app_of(stores).client() as client:
        id = await stray(client)
        known = await homes(client)
        assert (await client.submit(doubled, 1, id=id)).id == id
        with pytest.raises(TaskConflict, match="expected a new id"):
            await client.submit(other, 1, id=id)
        with pytest.raises(TaskConflict, match="expected a new id"):
            await client.submit(doubled, 2, id=id)
        (first, second) = await client.submit_many(doubled, [(1,), (1,)], ids=[id, "order-1"])
        assert (first.id, second.id) == (id, "order-1")
        await session_of(client).post("numbers", 1, id)
        queues = session_of(client).store.operators.queues
        await until(queues, lambda found: not any(each.messages for each in found))
        assert (await homes(client)).keys() - known.keys() == {"order-1"}
        assert (await homes(client))[id] == known[id] and await client.dead_letters() == []


async def test_an_earlier_id_waits_for_the_store_that_may_have_its_task(
    stores: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stepward.store.partitions.partition.REST_SECONDS", 600.0)
    async with app_of(stores).client() as client:
        whole: Any = session_of(client).store
        here = next(uid for uid in uids() if shard_of(uid) in initial_shards(2)[0])
        chosen = next(id for n in count() if shard_of(id := f"order-{n}") in initial_shards(2)[0])
        whole.partitions.members[1].fail("expected it, found it away")
        assert (await client.submit(doubled, 1, id=here)).id == here
        as_before(stores, monkeypatch)
        await whole.partitions.refresh()
        assert (await client.submit(doubled, 1, id=chosen)).id == chosen
        with pytest.raises(StoreUnavailable, match="partition p2"):
            await client.submit(doubled, 1, id=drawn_in(Environment().new_uid(), initial_shards(2)[0]))
