"""Change notifications: received from other processes only, again after a loss, and sent before a store is closed."""

from __future__ import annotations

import asyncio

import pytest

from stepward.model.records import InboxKind
from stepward.store.contract import Change, Post
from tests.store.conformance.world import World, claimed, scheduler, until
from tests.store.postgres.worlds import Database

pytestmark = pytest.mark.servers


async def test_a_store_that_is_closed_at_once_has_sent_its_notification(database: Database) -> None:
    world = World(lambda environment: database.store())
    listening = await database.opened()
    passing = await database.opened()
    await passing.client.submit([world.task()])
    await passing.close()
    await until(listening.host.changed)


async def test_a_waiting_store_is_notified_at_once_and_once(database: Database) -> None:
    world = World(lambda environment: database.store())
    listening, other = await database.opened(), await database.opened()
    listening.host.changed()
    waiting = asyncio.create_task(listening.host.stirred(3600))
    await other.client.submit([world.task()])
    async with asyncio.timeout(10):
        await waiting
    assert listening.host.changed()
    assert not listening.host.changed()


async def test_two_applications_do_not_hear_of_each_other(database: Database) -> None:
    world = World(lambda environment: database.store())
    shop, other, blog = await database.opened(), await database.opened(), await database.opened("blog")
    await blog.client.submit([world.task()])
    await shop.client.submit([world.task()])
    await until(other.host.changed)
    assert not blog.host.changed()


async def test_after_a_lost_connection_something_may_have_changed(database: Database) -> None:
    world = World(lambda environment: database.store())
    listening = await database.opened()
    bell = listening._notifier._connection
    assert bell is not None
    await database.rows(f"select pg_terminate_backend({bell.raw.get_server_pid()})")
    await until(listening.host.changed)
    await (await database.opened()).client.submit([world.task()])
    await until(listening.host.changed)


async def test_steps_that_go_on_ring_no_bell_and_what_others_wait_for_does(database: Database) -> None:
    world = World(lambda environment: database.store())
    store = await database.opened()
    await scheduler(store)
    task = await claimed(world, store)
    listening = await database.opened()
    listening.host.changed()
    posts = [Post(task=task.uid, kind=InboxKind.STEP)]
    await until(lambda: not store._notifier._wanted.is_set())
    await store.scheduler.commit("s1", [Change(task=task.uid)], 10.0)
    assert not store._notifier._wanted.is_set()
    await store.scheduler.commit("s1", [Change(task="x", posts=posts)], None)
    await until(listening.host.changed)
