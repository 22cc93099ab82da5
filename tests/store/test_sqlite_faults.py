from __future__ import annotations

import asyncio
from pathlib import Path

import apsw
import pytest

from stepward.errors import CommitUnknown, StoreUnavailable
from stepward.model.states import TaskState
from stepward.store.contract import Change
from stepward.store.sqlite import SqliteStore
from tests.store.conformance.world import SERVED, World, claimed, ids, scheduler, step
from tests.store.listing import listed
from tests.store.places import environment, execute, opened
from tests.virtual import VirtualLoop


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


class Fault:
    """A failpoint that raises an I/O error when armed with its name."""

    def __init__(self) -> None:
        self.armed = ""

    def __call__(self, name: str) -> None:
        if name == self.armed:
            self.armed = ""
            raise apsw.IOError("disk I/O error")


def worlds(file: Path) -> World:
    return World(lambda environment: SqliteStore(str(file), app="shop", environment=environment))


def _limit_pages(store: SqliteStore, pages: int) -> None:
    connection = store._database.connection
    assert connection is not None
    connection.raw.pragma("max_page_count", pages)


async def test_a_full_disk_changes_nothing_and_is_over_when_there_is_room(file: Path) -> None:
    world = worlds(file)
    store = await opened(file, environment=world.environment)
    await scheduler(store)
    small, big = world.task("small"), [world.task(input=b'"%s"' % (b"x" * 5000)) for _ in range(40)]
    _limit_pages(store, 60)
    await store.client.submit([small])
    with pytest.raises(StoreUnavailable, match="the disk is full"):
        await store.client.submit(big)
    held = (await store.scheduler.claim("s1", SERVED, 9))[0].task
    changes = [Change(task=held.uid, inserts=[step(held, f"x/{n}", n, output=big[0].input) for n in range(40)])]
    with pytest.raises(StoreUnavailable, match="the disk is full"):
        await store.scheduler.commit("s1", changes, None)
    assert [task.id for task in await listed(store)] == ["small"]
    assert await store.client.steps("small") == []
    _limit_pages(store, 100_000)
    await store.client.submit(big)
    assert (await store.scheduler.commit("s1", changes, None)).missed == {}
    assert execute(file, "pragma integrity_check") == [("ok",)]
    await store.close()


@pytest.mark.parametrize(("point", "kept"), [("store.commit.before", []), ("store.commit.after", ["a"])])
async def test_an_io_error_in_a_commit_leaves_its_outcome_unknown(file: Path, point: str, kept: list[str]) -> None:
    fault = Fault()
    world = worlds(file)
    store = await opened(file, environment=environment(fault))
    await scheduler(store)
    fault.armed = point
    task = world.born("s1")
    task.id = "a"
    with pytest.raises(CommitUnknown, match="read what became of it"):
        await store.scheduler.commit("s1", [Change(task=task.uid, born=task)], None)
    assert [found.id for found in await listed(store)] == kept
    await store.client.submit([world.task("b")])
    await store.close()


async def test_an_io_error_before_the_commit_is_known_to_change_nothing(file: Path) -> None:
    store = await opened(file)

    def fail(connection: object) -> None:
        raise apsw.IOError("disk I/O error")

    with pytest.raises(StoreUnavailable, match="IOError"):
        await store._database.write(fail)
    await store.close()


async def test_a_damaged_file_is_unusable(file: Path) -> None:
    store = await opened(file)

    def fail(connection: object) -> None:
        raise apsw.CorruptError("malformed")

    with pytest.raises(StoreUnavailable.__mro__[1], match="restore a backup"):
        await store._database.read(fail)
    await store.close()


async def test_a_writer_waits_for_another_process_without_blocking_the_loop(file: Path) -> None:
    store = await opened(file)
    other = apsw.Connection(str(file))
    other.execute("begin immediate")
    world = worlds(file)
    writing = asyncio.create_task(store.client.submit([world.task("a")]))
    for _ in range(10):
        await asyncio.sleep(0)
    assert not writing.done()
    assert await listed(store) == []
    other.execute("commit")
    (answer,) = await writing
    assert answer.created
    other.close()
    await store.close()


def test_a_store_busy_for_too_long_is_unavailable(file: Path) -> None:
    loop = VirtualLoop()
    world = worlds(file)

    async def held() -> float:
        world.clock.boot = loop.time  # type: ignore[method-assign]
        store = await opened(file, environment=world.environment, busy_seconds=3.0)
        other = apsw.Connection(str(file))
        other.execute("begin immediate")
        began = loop.time()
        with pytest.raises(StoreUnavailable, match="expected to write within 3 s"):
            await store.client.submit([world.task("a")])
        other.close()
        await store.close()
        return loop.time() - began

    try:
        assert 3.0 <= loop.run_until_complete(held()) < 3.1
    finally:
        loop.close()


def test_a_write_inside_a_transaction_of_the_same_store_raises(file: Path) -> None:
    loop = VirtualLoop()
    world = worlds(file)

    async def nested() -> None:
        world.clock.boot = loop.time  # type: ignore[method-assign]
        store = await opened(file, environment=world.environment)
        async with store.client.transaction():
            with pytest.raises(StoreUnavailable, match="keep transactions short"):
                await store.client.submit([world.task("a")])
        await store.close()

    try:
        loop.run_until_complete(nested())
    finally:
        loop.close()


async def test_others_read_while_a_transaction_is_open(file: Path) -> None:
    store, other = await opened(file), await opened(file)
    world = worlds(file)
    async with store.client.transaction() as transaction:
        await transaction.submit([world.task("a")])
        assert await listed(store) == []
        assert await listed(other) == []
    assert [task.id for task in await listed(other)] == ["a"]
    await store.close()
    await other.close()


async def test_a_statement_that_ends_the_transaction_is_refused(file: Path) -> None:
    store = await opened(file)
    for statement in ("commit", "rollback", "end", "begin immediate"):
        with pytest.raises(ValueError, match="leave that to Stepward"):
            async with store.client.transaction() as transaction:
                await transaction.execute("create table if not exists cart (name text)")
                await transaction.execute(statement)
    assert execute(file, "select name from sqlite_schema where name = 'cart'") == []
    await store.close()


async def test_nothing_goes_on_in_a_transaction_that_sqlite_rolled_back(file: Path) -> None:
    store = await opened(file)
    with pytest.raises(ValueError, match="rolled back by an earlier statement"):
        async with store.client.transaction() as transaction:
            await transaction.execute("create table cart (name text unique)")
            await transaction.execute("insert into cart values ('pen')")
            with pytest.raises(apsw.ConstraintError):
                await transaction.execute("insert or rollback into cart values ('pen')")
            await transaction.execute("create table basket (name text)")
    assert execute(file, "select name from sqlite_schema where name in ('cart', 'basket')") == []
    await store.close()


async def test_two_stores_interleaved_share_every_change(file: Path) -> None:
    world = worlds(file)
    one, two = await opened(file, environment=world.environment), await opened(file, environment=world.environment)
    await scheduler(one, "s1")
    await scheduler(two, "s2")
    for number in range(20):
        await (one, two)[number % 2].client.submit([world.task(f"t{number}")])
    taken = [
        await one.scheduler.claim("s1", SERVED, 3),
        await two.scheduler.claim("s2", SERVED, 3),
        await one.scheduler.claim("s1", SERVED, 99),
    ]
    found = [id for histories in taken for id in ids(histories)]
    assert sorted(found) == sorted(f"t{number}" for number in range(20))
    task = await claimed(world, one, "s1")
    (held,) = [found for found in await listed(two, limit=1) if found.uid == task.uid]
    assert (held.locked_by, held.state) == ("s1", TaskState.PROCESSING)
    await one.close()
    await two.close()


async def test_an_idle_process_runs_fewer_than_three_statements_a_second(file: Path) -> None:
    world = worlds(file)
    store = await opened(file, environment=world.environment)
    await scheduler(store)
    await store.supervisor.lead("s1", 10)
    before = store.statements
    for second in range(60):
        world.clock.advance(1)
        store.host.changed()
        await store.supervisor.lead("s1", 10)
        await store.supervisor.due()
        if second % 3 == 0:
            await store.host.renew(["s1"], 10)
    assert store.statements - before < 3 * 60
    await store.close()


async def test_a_fault_while_looking_for_changes_is_no_change(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fault() -> int:
        raise apsw.IOError("disk I/O error")

    store = await opened(file)
    monkeypatch.setattr(store._database.connection, "version", fault)
    assert not store.host.changed()
    monkeypatch.undo()
    assert not store.host.changed()
    await store.close()
