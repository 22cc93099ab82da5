"""Which primary is worked with: the one that took over last, found in bounded time, whatever the others do."""

from __future__ import annotations

import asyncio

import pytest

from servers.postgres import Server
from stepward.errors import StoreError, StoreUnavailable
from stepward.store.postgres import PostgresStore
from stepward.store.postgres.engine.connection import Connection
from tests.store.conformance.world import World, scheduler
from tests.store.postgres.pairs import Stage
from tests.store.postgres.proxy import proxy

pytestmark = pytest.mark.servers

LEASE = 3.0
IDS = "select id from stepward_shop.task order by id"


@pytest.fixture
def world(stage: Stage) -> World:
    return World(lambda environment: pytest.fail("the stage opens the stores"))


async def test_who_comes_new_does_not_take_the_old_primary_for_the_new(stage: Stage, world: World) -> None:
    await stage.opened()
    old = await stage.usurp()
    for address in (_both(stage, old, stage.pair.primary), _both(stage, stage.pair.primary, old)):
        store = await stage.opened(address)
        await store.client.submit([world.task()])
    assert len(await stage.rows(IDS)) == 2
    assert await stage.rows(IDS, old) == []


async def test_who_works_with_the_old_primary_goes_over_to_the_new_when_commits_hang(
    stage: Stage, world: World
) -> None:
    store = await stage.opened()
    await scheduler(store, "s1", LEASE)
    old = await stage.usurp()
    async with asyncio.timeout(LEASE + 10):
        await _submitted(store, world)
    assert await stage.rows(IDS) == [("a",)]
    assert await stage.rows(IDS, old) == []


async def test_connections_to_a_primary_that_was_replaced_are_used_no_more(stage: Stage, world: World) -> None:
    store = await stage.opened()
    await scheduler(store, "s1", LEASE)
    # From then on the Scheduler's connection stands idle, at the old primary.
    assert await store.scheduler.next_wake() is None
    await stage.usurp()
    async with asyncio.timeout(LEASE + 10):
        await _submitted(store, world)
    assert await store._database.turns.read(Connection.row, "client.task", "a") is not None


async def test_a_primary_that_was_replaced_is_refused_when_no_other_answers(stage: Stage, world: World) -> None:
    store = await stage.opened()
    old = await stage.usurp()
    async with asyncio.timeout(LEASE + 10):
        await _submitted(store, world)
    await asyncio.to_thread(stage.pair.primary.stop, immediate=True)
    with pytest.raises(StoreUnavailable):
        await store.client.submit([world.task("b")])
    with pytest.raises(StoreUnavailable, match="found one that it has replaced; stop the old primary"):
        await store.client.submit([world.task("b")])
    assert await stage.rows(IDS, old) == []
    await asyncio.to_thread(stage.pair.primary.start)
    async with asyncio.timeout(LEASE + 10):
        await _submitted(store, world, "b")


async def test_from_a_primary_that_answers_nothing_the_way_leads_to_the_other_in_bounded_time(
    stage: Stage, world: World
) -> None:
    async with proxy(stage.pair.primary.port) as first, proxy(stage.pair.standby.port) as second:
        hosts = f"127.0.0.1:{first.port},127.0.0.1:{second.port}"
        store = await stage.opened(f"postgresql://postgres@{hosts}/{stage.name}")
        await scheduler(store, "s1", LEASE)
        await store.client.submit([world.task("before")])
        first.swallow()
        await stage.fail_over()
        began = asyncio.get_running_loop().time()
        await asyncio.gather(*[_submitted(store, world, id) for id in "abc"])
        took = asyncio.get_running_loop().time() - began
        assert took < LEASE + 10, f"took {took:.1f} s"
        await store.close()
    assert [id for (id,) in await stage.rows(IDS)] == ["a", "b", "before", "c"]


def _both(stage: Stage, first: Server, second: Server) -> str:
    return f"postgresql://postgres@127.0.0.1:{first.port},127.0.0.1:{second.port}/{stage.name}"


async def _submitted(store: PostgresStore, world: World, id: str = "a") -> None:
    """Submit it until that is acknowledged."""
    while True:
        try:
            await store.client.submit([world.task(id)])
        except StoreError:
            # Who tries again at once would keep the machine from the servers.
            await asyncio.sleep(0.05)
        else:
            return
