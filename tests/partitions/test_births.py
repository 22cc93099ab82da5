"""A store takes no new task of a shard that it does not hold: the transaction of the submission itself refuses it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from stepward.store.partitions.list_rules import new_record
from stepward.store.partitions.placement import shard_of, written
from stepward.store.sqlite import SqliteStore
from stepward.store.store_errors import ShardElsewhere
from tests.store.conformance.world import World
from tests.store.places import execute, opened

HERE, GONE, KNOWN = "here", "gone", "known"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def world(file: Path) -> World:
    return World(lambda environment: SqliteStore(str(file), app="shop", environment=environment))


@pytest.fixture
async def store(file: Path, world: World) -> AsyncIterator[SqliteStore]:
    """A store that holds the shard of HERE alone, with a task of another shard."""
    store = await opened(file)
    await store.client.submit([world.task(KNOWN)])
    held = written(frozenset({shard_of(HERE)}))
    await store.host.keep_partition(msgspec.structs.replace(new_record(1, 2, "first"), shards=held))
    yield store
    await store.close()


def ids(file: Path) -> set[str]:
    return {id for (id,) in execute(file, "select id from stepward_task")}


def test_the_ids_are_of_different_shards() -> None:
    assert len({shard_of(id) for id in (HERE, GONE, KNOWN)}) == 3


async def test_a_refused_submission_leaves_nothing_of_its_batch(store: SqliteStore, file: Path, world: World) -> None:
    for batch in ([GONE], [HERE, GONE], [KNOWN, HERE]):
        with pytest.raises(ShardElsewhere):
            await store.client.submit([world.task(id) for id in batch])
    assert ids(file) == {KNOWN}
    (submitted,) = await store.client.submit([world.task(HERE)])
    assert submitted.created


async def test_an_id_that_is_known_here_is_refused_too(store: SqliteStore, world: World) -> None:
    """It may be one that went with its key, beside which a task of that id is in another store."""
    with pytest.raises(ShardElsewhere):
        await store.client.submit([world.task(KNOWN)])


async def test_a_refusal_that_is_caught_in_a_transaction_leaves_nothing_to_commit(
    store: SqliteStore, file: Path, world: World
) -> None:
    async with store.client.transaction() as transaction:
        with pytest.raises(ShardElsewhere):
            await transaction.submit([world.task(GONE)])
        await transaction.submit([world.task(HERE)])
    assert ids(file) == {KNOWN, HERE}
