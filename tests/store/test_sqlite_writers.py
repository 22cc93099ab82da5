"""Writers of one process share commits, each with its own outcome; none overtakes another process for ever."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from random import Random

import apsw
import pytest

from stepward.clock import Environment
from stepward.errors import CommitUnknown, Refused, StoreUnavailable
from stepward.store.sqlite import SqliteStore
from stepward.store.sqlite.engine.busy_wait import GATE_SECONDS, PATIENT_SECONDS, BusyWait
from stepward.store.sqlite.engine.connection import Connection, WriterGate
from stepward.store.sqlite.engine.database import Database
from stepward.store.sqlite.engine.writer_queue import HOLD_SECONDS
from tests.store.conformance.world import HandClock
from tests.store.places import execute, opened
from tests.virtual import VirtualLoop

INSERT = "insert into app values (?)"
WRITERS = 50
TURN_SECONDS = 30
"""How long a writer waits for a transaction that is open in its process: six times ``busy_seconds``."""


class Commits:
    """A failpoint that counts commits, and may fail in one."""

    def __init__(self) -> None:
        self.count = 0
        self.failing: BaseException | None = None

    def __call__(self, name: str) -> None:
        if name == "store.commit.before":
            self.count += 1
            if self.failing is not None:
                raise self.failing


@pytest.fixture
def commits() -> Commits:
    return Commits()


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
async def store(file: Path, commits: Commits, clock: HandClock) -> AsyncIterator[SqliteStore]:
    store = await opened(file, environment=Environment(clock=clock, random=Random(7), failpoint=commits))
    execute(file, "create table app (x unique)")
    commits.count = 0
    yield store
    await store.close()


@pytest.fixture
def database(store: SqliteStore) -> Database:
    return store._database


def inserts(number: int) -> Callable[[Connection], int]:
    return lambda connection: connection.change(INSERT, (number,))


def rows(file: Path) -> list[int]:
    return [number for (number,) in execute(file, "select x from app order by x")]


async def written(database: Database, *works: Callable[[Connection], object]) -> list[object]:
    return await asyncio.gather(*(database.write(work) for work in works), return_exceptions=True)


async def test_writers_at_one_time_share_a_commit(database: Database, commits: Commits, file: Path) -> None:
    assert await written(database, *map(inserts, range(WRITERS))) == [1] * WRITERS
    assert commits.count == 2, "the first writes at once, as it knows of no other"
    assert await written(database, *map(inserts, range(WRITERS, 2 * WRITERS))) == [1] * WRITERS
    assert commits.count == 3, "where others came last time, also the first waits for them"
    assert rows(file) == list(range(2 * WRITERS))


async def test_two_who_write_in_loops_share_commits(database: Database, commits: Commits, file: Path) -> None:
    async def write(numbers: range) -> None:
        for number in numbers:
            await database.write(inserts(number))

    await asyncio.gather(write(range(WRITERS)), write(range(WRITERS, 2 * WRITERS)))
    assert commits.count <= WRITERS + 2
    assert rows(file) == list(range(2 * WRITERS))


async def test_a_writer_alone_lets_the_event_loop_run_only_after_another_write(database: Database, file: Path) -> None:
    for number in range(3):
        await asyncio.sleep(0)
        with pytest.raises(StopIteration):
            database.write(inserts(number)).send(None)
    again = database.write(inserts(3))
    assert again.send(None) is None, "the loop has not run since"
    with pytest.raises(StopIteration):
        again.send(None)
    assert rows(file) == [0, 1, 2, 3]


async def test_single_statements_share_the_commit_of_others(database: Database, commits: Commits, file: Path) -> None:
    await asyncio.gather(database.write(inserts(1)), database.single(inserts(2)), database.write(inserts(3)))
    assert (commits.count, rows(file)) == (2, [1, 2, 3])


async def test_an_error_undoes_the_work_of_its_writer_alone(database: Database, file: Path) -> None:
    def fails(connection: Connection) -> None:
        connection.change(INSERT, (100,))
        raise KeyError("mine")

    found = await written(database, inserts(1), fails, inserts(2), inserts(1), inserts(3))
    assert [type(each) for each in found] == [int, KeyError, int, Refused, int]
    assert rows(file) == [1, 2, 3]


async def test_what_sqlite_rolls_back_for_one_writer_is_written_for_the_others(
    database: Database, commits: Commits, file: Path
) -> None:
    def rolls_back(connection: Connection) -> None:
        connection.change("insert or rollback into app values (1)")

    found = await written(database, inserts(1), inserts(2), rolls_back, inserts(3))
    assert [type(each) for each in found] == [int, int, Refused, int]
    assert (rows(file), commits.count) == ([1, 2, 3], 2)


@pytest.mark.parametrize(
    ("fault", "error"), [(apsw.IOError("no"), CommitUnknown), (apsw.FullError("no"), StoreUnavailable)]
)
async def test_a_commit_that_fails_is_raised_at_each_writer_in_an_exception_of_its_own(
    database: Database, commits: Commits, file: Path, fault: Exception, error: type[Exception]
) -> None:
    commits.failing = fault
    found = await written(database, *map(inserts, range(WRITERS)))
    assert {type(each) for each in found} == {error}
    assert len({id(each) for each in found}) == WRITERS
    commits.failing = None
    assert (await written(database, inserts(1)), rows(file)) == ([1], [1])


async def test_a_writer_that_is_cancelled_while_it_waits_writes_nothing(database: Database, file: Path) -> None:
    writing = [asyncio.create_task(database.write(inserts(number))) for number in range(4)]
    await asyncio.sleep(0)
    writing[2].cancel()
    found = await asyncio.gather(*writing, return_exceptions=True)
    assert isinstance(found[2], asyncio.CancelledError)
    assert rows(file) == [0, 1, 3]


async def test_writers_go_on_when_the_first_is_cancelled_while_the_file_is_locked(
    database: Database, file: Path
) -> None:
    other = apsw.Connection(str(file))
    other.execute("begin immediate")
    writing = [asyncio.create_task(database.write(inserts(number))) for number in range(3)]
    for _ in range(10):
        await asyncio.sleep(0)
    writing[0].cancel()
    other.execute("commit")
    other.close()
    async with asyncio.timeout(5):
        found = await asyncio.gather(*writing, return_exceptions=True)
    assert (found[1:], rows(file)) == ([1, 1], [1, 2])


async def test_a_commit_takes_in_no_more_work_than_may_hold_the_loop(
    database: Database, commits: Commits, clock: HandClock
) -> None:
    def slow(connection: Connection) -> None:
        clock.advance(HOLD_SECONDS / 2)

    await written(database, *[slow] * 10)
    assert commits.count == 6, "one alone, then two at a time"


async def test_a_closed_store_refuses_every_writer(database: Database, store: SqliteStore) -> None:
    await store.close()
    async with asyncio.timeout(5):
        found = await written(database, inserts(1), inserts(2), inserts(3))
    assert {type(each) for each in found} == {StoreUnavailable}


@pytest.fixture
def virtual() -> Iterator[VirtualLoop]:
    loop = VirtualLoop()
    yield loop
    loop.close()


class Locked:
    """A file that others lock: work that finds it locked, and the number of the last commit."""

    def __init__(self, path: str) -> None:
        Path(f"{path}-wal").touch()
        self.tries = 0
        self.commits = 0
        self.on_try: Callable[[], None] = lambda: None
        self.until = float("inf")
        self.busy = BusyWait(path, Environment(random=Random(7)), 1.0, lambda: self.commits)

    def write(self) -> int:
        self.tries += 1
        self.on_try()
        if self.tries < self.until:
            raise apsw.BusyError("locked")
        return self.tries


def test_a_process_that_was_stopped_tries_as_often_as_others(virtual: VirtualLoop, file: Path) -> None:
    locked = Locked(str(file))
    locked.until = 100

    def stop() -> None:
        virtual.now += 60.0

    def stop_soon() -> None:
        virtual.call_soon(stop)

    locked.on_try = stop_soon
    assert virtual.run_until_complete(locked.busy.write(locked.write, 0.0)) == 100


def test_a_writer_waits_longer_while_others_commit(virtual: VirtualLoop, file: Path) -> None:
    idle, busy = Locked(str(file)), Locked(str(file))

    def commit() -> None:
        busy.commits += 1

    busy.on_try = commit
    for each in (idle, busy):
        with pytest.raises(StoreUnavailable, match="expected to write within 1 s"):
            virtual.run_until_complete(each.busy.write(each.write, 0.0))
    assert 5 * idle.tries < busy.tries < 7 * idle.tries


def test_a_writer_that_has_waited_holds_back_the_others_until_it_has_written(virtual: VirtualLoop, file: Path) -> None:
    locked, other = Locked(str(file)), WriterGate(str(file))
    seen: list[tuple[float, bool]] = []
    locked.on_try = lambda: seen.append((locked.busy.waited, other.is_open()))
    locked.until = 50
    virtual.run_until_complete(locked.busy.write(locked.write, 0.0))
    assert all(is_open is (waited < PATIENT_SECONDS) for waited, is_open in seen)
    assert {is_open for _, is_open in seen} == {True, False}
    assert other.is_open()
    other.forget()
    locked.busy.forget()


def test_a_closed_gate_is_passed_when_its_process_does_not_go_on(virtual: VirtualLoop, file: Path) -> None:
    locked, other = Locked(str(file)), WriterGate(str(file))
    locked.until = 1
    assert other.close()
    assert virtual.run_until_complete(locked.busy.write(locked.write, 0.0)) == 1
    assert locked.busy.waited >= GATE_SECONDS
    other.forget()
    locked.busy.forget()


async def test_a_writer_waits_before_a_closed_gate(database: Database, commits: Commits, file: Path) -> None:
    other = WriterGate(str(file))
    assert other.close()
    writing = asyncio.create_task(database.write(inserts(1)))
    for _ in range(10):
        await asyncio.sleep(0)
    assert commits.count == 0
    other.open()
    async with asyncio.timeout(5):
        await writing
    assert rows(file) == [1]
    other.forget()


def test_readers_at_one_time_are_each_as_patient_as_one_alone(virtual: VirtualLoop, file: Path) -> None:
    locked = Locked(str(file))
    until = virtual.time() + 0.9

    def read() -> int:
        if virtual.time() < until:
            raise apsw.BusyError("locked")
        return 1

    async def all_read() -> list[int]:
        return await asyncio.gather(*(locked.busy.run(read) for _ in range(100)))

    assert virtual.run_until_complete(all_read()) == [1] * 100


def test_writers_behind_a_transaction_that_stays_open_wait_no_longer_than_the_first(
    virtual: VirtualLoop, file: Path
) -> None:
    async def seconds_waited() -> float:
        store = await opened(file)
        async with store.client.transaction():
            began = virtual.time()
            found = await written(store._database, *map(inserts, range(WRITERS)))
            waited = virtual.time() - began
        await store.close()
        assert {type(each) for each in found} == {StoreUnavailable}
        return waited

    assert virtual.run_until_complete(seconds_waited()) == pytest.approx(TURN_SECONDS, abs=1)


async def test_a_store_that_is_opened_through_a_link_has_the_gate_of_its_file(
    database: Database, file: Path, tmp_path: Path
) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(file)
    await written(database, inserts(1))
    here, there = WriterGate(str(file)), WriterGate(str(link))
    assert here.close()
    assert not there.is_open()
    here.forget()
    there.forget()
