"""Through a pooler in transaction mode everything works but what one session would have to remember."""

from __future__ import annotations

import pytest

from stepward.model.states import TaskState
from stepward.store.contract import Change
from stepward.store.postgres import PostgresStore
from tests.store.conformance.world import SERVED, World, add_steps, claimed, end, ids, scheduler, step, until
from tests.store.listing import listed
from tests.store.postgres.pooler import pooler
from tests.store.postgres.worlds import Database

pytestmark = pytest.mark.servers


async def test_a_pooler_is_recognised_and_worked_through(database: Database) -> None:
    world = World(lambda environment: database.store())
    async with pooler(database.server.port) as port:
        store = await database.opened(address=f"postgresql://postgres@127.0.0.1:{port}/{database.name}")
        assert store._database.connector.pooled
        await works(world, store)
        await store.close()


async def test_a_pooler_may_be_named(database: Database) -> None:
    world = World(lambda environment: database.store())
    store = await database.opened(address=f"{database.address}?pooler=transaction")
    assert store._database.connector.pooled
    await works(world, store)


async def test_who_listens_hears_of_what_came_through_a_pooler(database: Database) -> None:
    listening = await database.opened()
    async with pooler(database.server.port) as port:
        store = await database.opened(address=f"postgresql://postgres@127.0.0.1:{port}/{database.name}")
        listening.host.changed()
        await scheduler(store)
        await until(listening.host.changed)
        assert not store.host.changed()
        await store.close()


async def works(world: World, store: PostgresStore) -> None:
    """Submits, claims, commits, shares transactions and reads: each kind of statement."""
    await scheduler(store)
    for _ in range(3):
        task = await claimed(world, store)
        await add_steps(store, task, step(task), step(task, "pack/1", 2))
        async with store.client.transaction() as transaction:
            await transaction.submit([world.task()])
            await transaction.execute("create table if not exists cart (name text)")
            await transaction.execute("insert into cart values ($1)", ["pen"])
        await store.client.signal(task.id, "paid", b"1", None)
        (row,) = await store.scheduler.read_inbox("s1", 0)
        used_up = Change(task=task.uid, taken=[row.number], finishes=[])
        assert (await store.scheduler.commit("s1", [used_up], 10.0)).missed == {}
        assert len(ids(await store.scheduler.claim("s1", SERVED, 9))) == 1
        found = await store.client.task(task.id)
        assert found is not None
        await end(store, found, TaskState.PROCESSED)
    assert len(await listed(store)) == 6
