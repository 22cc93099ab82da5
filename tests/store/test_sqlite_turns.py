"""All writers to one file in one process get their turn, and leave the event loop to others."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from stepward.errors import InstanceFenced
from stepward.store.contract import Change
from stepward.store.sqlite import SqliteStore
from tests.store.conformance.world import World, claimed, scheduler, step
from tests.store.places import environment, opened

WRITES = 50


async def with_a_task(file: Path) -> SqliteStore:
    store = await opened(file)
    world = World(lambda environment: SqliteStore(str(file), app="shop", environment=environment))
    await scheduler(store)
    task = world.task("t")
    await store.client.submit([task])
    return store


async def test_a_loop_of_signals_or_reads_leaves_the_event_loop_to_others(tmp_path: Path) -> None:
    store = await with_a_task(tmp_path / "store.db")
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    beside = asyncio.create_task(others())
    for _ in range(WRITES):
        await store.client.signal("t", "go", b"1", None)
    assert turns >= WRITES - 1, "the first need not wait"
    turns = 0
    for _ in range(WRITES):
        await store.client.task("t")
        await store.client.steps("t")
    beside.cancel()
    assert turns >= 2 * WRITES
    await store.close()


async def test_a_writer_comes_between_the_transactions_of_a_busy_neighbour(tmp_path: Path) -> None:
    here = await with_a_task(tmp_path / "store.db")
    there = await opened(tmp_path / "store.db")
    transactions = 0

    async def neighbour() -> None:
        nonlocal transactions
        while True:
            async with there.client.transaction():
                transactions += 1
                await asyncio.sleep(0.001)

    busy = asyncio.create_task(neighbour())
    await asyncio.sleep(0)
    for number in range(WRITES):
        await here.client.signal("t", "go", b"1", str(number))
    busy.cancel()
    assert transactions <= 2 * WRITES
    await asyncio.gather(busy, return_exceptions=True)
    await here.close()
    await there.close()


async def test_many_who_write_in_tight_loops_all_come_to_write(tmp_path: Path) -> None:
    first = await with_a_task(tmp_path / "store.db")
    stores = [first, *[await opened(tmp_path / "store.db", environment=environment()) for _ in range(7)]]

    async def write(store: SqliteStore) -> None:
        for _ in range(WRITES):
            async with store.client.transaction():
                await asyncio.sleep(0)

    async with asyncio.timeout(30):
        await asyncio.gather(*map(write, stores))
    for store in stores:
        await store.close()


@pytest.mark.parametrize("renew", [None, 10.0])
async def test_an_instance_fenced_during_a_batch_commits_no_change_alone(tmp_path: Path, renew: float | None) -> None:
    store, other = await opened(tmp_path / "store.db"), await opened(tmp_path / "store.db")
    world = World(lambda environment: store)
    await scheduler(store)
    task = await claimed(world, store)
    fits, misses = Change(task=task.uid, inserts=[step(task)]), Change(task="u", inserts=[step(world.task())])
    committing = asyncio.create_task(store.scheduler.commit("s1", [fits, misses], renew))
    # The loop runs between the first try and the second: retiring by another store object comes between.
    await asyncio.sleep(0)
    await other.host.retire("s1")
    with pytest.raises(InstanceFenced, match="s1"):
        await committing
    assert await store.client.steps(task.id) == []
    await store.close()
    await other.close()
