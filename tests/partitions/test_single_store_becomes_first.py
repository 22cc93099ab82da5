"""An application that began with one store takes in a second, and goes on as one of two: each task is found, once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from stepward import Client, Singleton, TaskState
from stepward.client import session_of
from stepward.errors import Refused, SettingsError, StoreUnavailable
from stepward.store.contract import TaskSearch
from stepward.store.partitions.placement import initial_shards, shard_of, shard_of_key
from tests.partitions.test_moving import Bank, add, application, ended, move

MOVING = initial_shards(2)[1]


@pytest.fixture
def stores(tmp_path: Path) -> list[str]:
    return [f"sqlite:///{tmp_path / name}.db" for name in ("a", "b")]


def id_of(shards: frozenset[int], prefix: str = "order") -> str:
    return next(id for n in count(1) if shard_of(id := f"{prefix}-{n}") in shards)


async def homes(client: Client) -> dict[str, list[int]]:
    """By id, the numbers of the partitions in which a task is."""
    whole: Any = session_of(client).store
    found: dict[str, list[int]] = {}
    for member in whole.partitions.members:
        for task in (await member.store.operators.tasks(TaskSearch(limit=1000))).tasks:
            found.setdefault(task.id, []).append(member.number)
    return found


async def keyed_stray(client: Client) -> tuple[str, str]:
    """A key whose shard moves, and the drawn id of its task, whose shard stays."""
    for key in (key for n in count() if shard_of_key(key := f"key-{n}") in MOVING):
        id = (await client.submit("fulfil", key, per_key=Singleton(key))).id
        if shard_of(id) not in MOVING:
            return key, id
    raise AssertionError


async def test_what_one_store_had_is_found_in_two(stores: list[str]) -> None:
    bank, moving, stays = Bank(), id_of(MOVING), id_of(initial_shards(2)[0])
    app = application(stores[:1], bank)
    async with app.running(), app.client() as client:
        for order in (moving, stays):
            await client.submit("fulfil", order, id=order)
        key, drawn = await keyed_stray(client)
        await client.create_schedule("nightly", "narrow", ("nightly-1",), every="1h")
        early = await client.submit("narrow", "narrow-1", id="narrow-1")
        await early.result(timeout=30)
        fork = await early.fork("bank.charge/1")
        await fork.result(timeout=30)
        await add(stores)
        # Until it is started again this process goes on with the store that it has.
        await (await client.submit("narrow", "late-1", id="late-1")).result(timeout=30)
        with pytest.raises(SettingsError, match="started since p2 was added, found"):
            async with application(stores, bank).running():
                await move(stores)
    with pytest.raises(SettingsError, match="expected all 2 partitions of the application in one list, found p1 alone"):
        async with application(stores[:1], bank).client():
            pass
    app = application(stores, bank)
    async with app.running(), app.client() as client:
        assert set(await move(stores)) == MOVING
        found = await homes(client)
        assert all(len(places) == 1 for places in found.values())
        assert {1, 2} == {place for places in found.values() for place in places}
        assert (found[moving], found[stays], found[drawn]) == ([2], [1], [2])
        for id, argument in ((moving, moving), (stays, stays), (drawn, key)):
            assert (await client.submit("fulfil", argument, id=id)).id == id
        for id in ("narrow-1", fork.id):
            assert (await client.submit("narrow", "narrow-1", id=id)).id == id
        assert (await client.submit("fulfil", key, per_key=Singleton(key, if_running="join"))).id == drawn
        assert await homes(client) == found
        for id, argument in ((moving, moving), (stays, stays), (drawn, key)):
            await client.task(id).signal("paid", argument)
            assert await ended(client, id) in (TaskState.PROCESSED, TaskState.UNDONE)
        assert [schedule.name for schedule in await client.schedules()] == ["nightly"]
        await client.trigger_schedule("nightly")
    assert all(len(keys) == 1 for (order, _), keys in bank.keys.items() if order in (moving, stays, key))


async def test_a_process_with_the_one_store_misses_nothing_that_has_left_in_silence(stores: list[str]) -> None:
    moving = id_of(MOVING)
    async with application(stores[:1], Bank()).client() as client:
        await add(stores)
        async with application(stores, Bank()).running():
            await move(stores)
            with pytest.raises(StoreUnavailable, match="start the process with every store"):
                await client.submit("narrow", moving, id=moving)


async def test_a_task_under_a_key_with_a_chosen_id_moves_once_it_has_ended(stores: list[str]) -> None:
    bank, key = Bank(), next(key for n in count() if shard_of_key(key := f"key-{n}") in MOVING)
    async with application(stores[:1], bank).client() as client:
        await client.submit("fulfil", "order-1", id="order-1", per_key=Singleton(key))
        await add(stores)
    async with application(stores, bank).running(), application(stores, bank).client() as client:
        with pytest.raises(Refused, match="found 'order-1', which was chosen"):
            await move(stores)
        await client.task("order-1").cancel()
        await ended(client, "order-1")
        await move(stores)
        assert (await homes(client))["order-1"] == [1 + (shard_of("order-1") in MOVING)]
        assert (await client.submit("fulfil", "order-1", id="order-1")).id == "order-1"


async def test_a_chosen_id_under_a_key_keeps_no_other_shard_from_moving(stores: list[str]) -> None:
    stay = initial_shards(2)[0]
    chosen, key, moving = id_of(stay), id_of(stay, "key"), id_of(MOVING, "other")
    async with application(stores[:1], Bank()).client() as client:
        await client.submit("fulfil", chosen, id=chosen, per_key=Singleton(key))
        await client.submit("fulfil", moving, id=moving)
        await add(stores)
    async with application(stores, Bank()).running(), application(stores, Bank()).client() as client:
        await move(stores)
        assert (await homes(client)).items() >= {chosen: [1], moving: [2]}.items()


async def test_the_one_store_is_added_to_once_more_after_it_was_cut_off(
    stores: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with application(stores[:1], Bank()).client() as client:
        await client.submit("narrow", "order-1", id="order-1")
    await cut_off_add(stores, monkeypatch)
    async with application(stores[:1], Bank()).client() as client:
        await client.submit("narrow", "order-2", id="order-2")
    await add(stores)
    async with application(stores, Bank()).client() as client:
        assert {task.id for task in await client.tasks()} == {"order-1", "order-2"}


async def cut_off_add(stores: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patches:
        patches.setattr("stepward.store.partitions.moving.added_store.write_record", _end)
        with pytest.raises(KeyboardInterrupt):
            await add(stores)


async def _end(*_: object) -> None:
    raise KeyboardInterrupt
