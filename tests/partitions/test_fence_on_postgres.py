"""PostgreSQL: a write that waits while a shard leaves changes nothing of it, and one that has begun is waited for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import msgspec
import psycopg
import pytest

from stepward.errors import SettingsError, StoreUnavailable, StoreUnusable
from stepward.model.records import Task
from stepward.model.states import TaskState
from stepward.model.tasks.key_rules import Singleton
from stepward.store.address import postgres_place
from stepward.store.contract import Change, Committed, Transaction, WrittenRow
from stepward.store.partitions.list_rules import new_record
from stepward.store.partitions.moving.departure import read_record, write_record
from stepward.store.partitions.moving.postgres_tables import PostgresTables
from stepward.store.partitions.placement import shard_of, shard_of_key, written
from stepward.store.postgres import PostgresStore
from stepward.store.store_errors import ShardElsewhere
from tests.partitions.places import in_files, looked_up
from tests.partitions.test_moving import Bank, add, application
from tests.store.conformance.world import World, claimed, scheduler, step
from tests.store.postgres.worlds import HandServerClock
from tests.until import until

HERE, GONE = "here", "gone"
WAITING = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
ALL = written(frozenset(range(256)))
LEFT = written(frozenset(range(256)) - {shard_of(GONE), shard_of_key(GONE)})

pytestmark = pytest.mark.servers


@pytest.fixture
async def world(postgres_stores: list[str]) -> AsyncIterator[World]:
    place = postgres_place(postgres_stores[0])
    world = World(
        lambda environment: PostgresStore(
            place, app="shop", environment=environment, clock=HandServerClock(environment.clock)
        )
    )
    yield world
    await world.close()


@pytest.fixture
async def store(world: World) -> PostgresStore:
    """A store that holds every shard; its statements are prepared."""
    store = await partition(world)
    await store.host.keep_partition(msgspec.structs.replace(new_record(1, 2, "first"), shards=ALL))
    for _ in range(2):
        await store.client.submit([world.task()])
        await store.client.submit([world.task(reply_to="replies.shop.web")])
    return store


async def partition(world: World) -> PostgresStore:
    store = await world.open()
    assert isinstance(store, PostgresStore)
    return store


@asynccontextmanager
async def leaving(world: World) -> AsyncIterator[tuple[PostgresTables, Transaction]]:
    """The transaction in which the shard of GONE leaves; it has left when the block ends."""
    tables = PostgresTables(await partition(world), Random(4))
    async with tables.alone() as transaction:
        yield tables, transaction
        record = await read_record(tables, transaction)
        await write_record(tables, transaction, msgspec.structs.replace(record, shards=LEFT))


async def held_up(address: str, *doing: Awaitable[object]) -> list[asyncio.Future[object]]:
    """Begins these; returns once each of them waits for a lock."""
    begun: list[asyncio.Future[object]] = [asyncio.ensure_future(each) for each in doing]
    with psycopg.connect(address.partition("?")[0], autocommit=True) as session:

        async def waiting() -> int:
            for each in begun:
                assert not each.done(), await each
            row = session.execute(WAITING).fetchone()
            assert row is not None
            return int(row[0])

        await until(waiting, lambda count: count >= len(begun))
    return begun


async def begun_in(store: PostgresStore, task: Task) -> None:
    async with store.client.transaction() as transaction:
        await transaction.submit([task])


async def test_births_that_wait_while_their_shard_leaves_are_refused(
    world: World, store: PostgresStore, postgres_stores: list[str]
) -> None:
    """Each of these begins with what it knew of the record before, and its statement was prepared before."""
    async with leaving(world):
        others = [await partition(world) for _ in range(2)]
        waiting = await held_up(
            postgres_stores[0],
            store.client.submit([world.task(GONE)]),
            begun_in(store, world.task(GONE)),
            store.client.submit([world.task(HERE), world.task(GONE)]),
            store.client.submit_keyed([world.task()], Singleton(GONE), actor="test"),
            others[0].client.submit([world.task(GONE)]),
            others[1].client.submit([world.task(GONE, reply_to="replies.shop.web")]),
        )
    for refused in waiting:
        with pytest.raises(ShardElsewhere):
            await refused
    assert not {HERE, GONE} & {id for (id,) in looked_up(postgres_stores[0], "select id from stepward_task")}
    assert looked_up(postgres_stores[0], "select key from stepward_submission_key") == []
    (submitted,) = await store.client.submit([world.task(HERE)])
    assert submitted.created


async def test_a_task_takes_no_other_along_whose_shard_has_left(world: World, store: PostgresStore) -> None:
    async with leaving(world):
        pass
    found = await asyncio.gather(
        store.client.submit([world.task()]),
        store.client.submit([world.task(GONE)]),
        store.client.submit([world.task(HERE)]),
        return_exceptions=True,
    )
    # The first goes by itself, and finds the record changed; the others come together after it.
    assert [isinstance(each, ShardElsewhere) for each in found] == [False, True, False]


async def test_a_refusal_that_is_caught_in_a_transaction_leaves_nothing_to_commit(
    world: World, store: PostgresStore, postgres_stores: list[str]
) -> None:
    async with leaving(world):
        pass
    async with store.client.transaction() as transaction:
        with pytest.raises(ShardElsewhere):
            await transaction.submit([world.task(GONE)])
        await transaction.submit([world.task(HERE)])
    found = {id for (id,) in looked_up(postgres_stores[0], "select id from stepward_task")}
    assert {HERE, GONE} & found == {HERE}


async def test_a_transaction_that_has_begun_is_waited_for_and_its_task_is_seen(
    world: World, store: PostgresStore, postgres_stores: list[str]
) -> None:
    async with store.client.transaction() as transaction:
        await transaction.execute("select 1")
        tables = PostgresTables(await partition(world), Random(4))
        scan = tables.scan()
        await scan.look_ahead()
        entered = asyncio.Event()

        async def leave() -> list[str]:
            async with tables.alone() as alone:
                entered.set()
                return (await scan.share(alone, shard_of(GONE))).tasks

        (doing,) = await held_up(postgres_stores[0], leave())
        task = world.task(GONE)
        await transaction.submit([task])
        assert not entered.is_set()
    assert await doing == [task.uid]


async def test_a_turn_that_waits_while_its_task_leaves_changes_nothing(
    world: World, store: PostgresStore, postgres_stores: list[str]
) -> None:
    """Steps, children and values of streams, each alone: the statement has no other reason to wait."""
    await scheduler(store)
    tasks = [await claimed(world, store) for _ in range(3)]
    changes = [
        Change(task=tasks[0].uid, inserts=[step(tasks[0])]),
        Change(task=tasks[1].uid, inserts=[step(tasks[1])], children=[world.task(parent=tasks[1].uid)]),
        Change(task=tasks[2].uid, appended=[WrittenRow(task=tasks[2].uid, name="log", value=b"1", at=0.0)]),
    ]
    lanes = [store, await partition(world), await partition(world)]
    async with leaving(world) as (tables, transaction):
        waiting = await held_up(
            postgres_stores[0],
            *(each.scheduler.commit("s1", [change], None) for each, change in zip(lanes, changes, strict=True)),
        )
        await tables.delete(transaction, "stepward_task", "uid", [task.uid for task in tasks])
    for task, doing in zip(tasks, waiting, strict=True):
        committed = await doing
        assert isinstance(committed, Committed)
        assert set(committed.missed) == {task.uid}
    for table in ("step", "stream_value"):
        assert looked_up(postgres_stores[0], f"select count(*) from stepward_{table}") == [(0,)]
    states = {state for (state,) in looked_up(postgres_stores[0], "select state from stepward_task")}
    assert states == {TaskState.PENDING}
    assert looked_up(postgres_stores[0], "select count(*) from stepward_task where parent is not null") == [(0,)]


async def test_what_keeps_the_mover_from_its_end_is_said_in_one_line(world: World, store: PostgresStore) -> None:
    """A statement that takes too long, and a right that is missing."""
    tables = PostgresTables(store, Random(4))
    with pytest.raises(StoreUnavailable, match="expected an answer within the time allowed"):
        async with tables.alone() as transaction:
            await transaction.execute("set local statement_timeout = 10")
            await transaction.execute("select pg_sleep(10)")
    with pytest.raises(StoreUnusable, match="expected the rights on schema and tables"):
        async with tables.transaction() as transaction:
            await transaction.execute("set local role pg_monitor")
            await tables.run(transaction, "batches")


async def test_the_only_store_of_an_application_is_not_taken_for_a_first_one(postgres_stores: list[str]) -> None:
    """Clients that opened it alone know of no gate."""
    async with application(postgres_stores[0], Bank()).client():
        with pytest.raises(SettingsError, match="found its only store on PostgreSQL"):
            await add(postgres_stores[:2])


async def test_stores_of_two_engines_are_refused(postgres_stores: list[str], tmp_path: Path) -> None:
    async with application(postgres_stores[:2], Bank()).client():
        with pytest.raises(SettingsError, match="found another in place 3"):
            await add([*postgres_stores[:2], in_files(tmp_path)[2]])
