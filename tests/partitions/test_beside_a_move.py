"""What clients, operators and other processes find of tasks that move, or have moved, to a new store."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

import pytest

from stepward import StoreUnavailable
from stepward.client import session_of
from stepward.clock import Environment
from stepward.errors import Refused
from stepward.store.partitions.partitioned_store import PartitionedStore
from stepward.store.partitions.placement import initial_shards, shard_of
from tests.partitions.test_moving import FAILPOINTS, MOVED, Bank, add, application, ended, homes, looked_up, move


@pytest.fixture
def stores(tmp_path: Path) -> list[str]:
    return [f"sqlite:///{tmp_path / name}.db" for name in ("a", "b", "c")]


def ids(prefix: str, shards: frozenset[int]) -> Iterator[str]:
    """Ids that are placed in these shards."""
    return (id for n in count() if shard_of(id := f"{prefix}-{n}") in shards)


MOVING = MOVED & initial_shards(2)[0]


async def test_acts_on_a_task_are_found_after_it_has_moved(stores: list[str]) -> None:
    bank, moving = Bank(), next(ids("order", MOVING))
    async with application(stores[:2], bank).client() as client:
        await (await client.submit("fulfil", moving, id=moving)).suspend()
        await add(stores)
    async with application(stores, bank).running(), application(stores, bank).client() as client:
        await move(stores)
        assert [(act.act, act.task_id) for act in await client.audits(moving)] == [("suspend", moving)]


async def test_signals_to_a_task_on_its_way_are_delivered_once_it_has_arrived(stores: list[str]) -> None:
    bank, second = Bank(), sorted(MOVED)[1]
    moving = next(ids("order", frozenset({second})))
    async with application(stores[:2], bank).client() as client:
        await client.submit("fulfil", moving, id=moving)
        await add(stores)
    async with application(stores, bank).running(), application(stores, bank).client() as client:
        await move(stores, FAILPOINTS[2])
        reading = asyncio.create_task(client.task(moving).status())
        await asyncio.sleep(0.2)
        signalling = asyncio.create_task(client.task(moving).signal("paid", moving, id="once"))
        await asyncio.sleep(0.2)
        await move(stores)
        assert (await reading).id == moving
        await signalling


async def test_a_process_without_the_new_store_knows_no_owners_of_objects(stores: list[str]) -> None:
    """Its Supervisor would delete the large payloads of the tasks that have moved."""
    bank, moving = Bank(), next(ids("order", MOVING))
    old = PartitionedStore(stores[:2], app="moving", environment=Environment())
    async with application(stores[:2], bank).client() as client:
        uid = (await (await client.submit("fulfil", moving, id=moving)).status()).uid
        await old.open()
        await add(stores)
    async with application(stores, bank).running():
        assert await old.supervisor.known_owners([uid]) == {uid}
        await move(stores)
        with pytest.raises(StoreUnavailable, match="every store of the application"):
            await old.supervisor.known_owners([uid])
        with pytest.raises(StoreUnavailable, match="every store of the application"):
            await old.supervisor.family(uid, 10)
        with pytest.raises(StoreUnavailable, match="every store of the application"):
            await old.operators.schedule("nightly")
    await old.close()


async def test_messages_that_move_become_tasks_at_once(stores: list[str]) -> None:
    """The submission that takes them may not have seen yet that their shard is there."""
    bank, posted = Bank(), list(islice(ids("order", MOVING), 20))
    async with application(stores[:2], bank).client() as client:
        for order in posted:
            await session_of(client).post("orders", None, order)
        await add(stores)
    async with application(stores, bank).running(partitions=["p3"]), application(stores, bank).client() as client:
        await move(stores)
        for order in posted:
            await ended(client, order)
        assert await client.dead_letters() == []
        assert set(homes(stores)) == set(posted)


async def test_a_fork_takes_no_id_of_a_shard_that_has_left(stores: list[str]) -> None:
    bank = Bank()
    stays, moved = next(ids("quick", initial_shards(3)[0])), next(ids("fork", MOVING))
    async with application(stores[:2], bank).client():
        await add(stores)
    async with application(stores, bank).running(), application(stores, bank).client() as client:
        await (await client.submit("narrow", stays, id=stays)).result(timeout=30)
        await move(stores)
        with pytest.raises(Refused, match="expected an id that is placed in partition p1"):
            await client.task(stays).fork("bank.charge/1", id=moved)
        assert looked_up(stores[0], "select id from stepward_task") == [(stays,)]
