"""Store objects on one file notify each other of changes, through named pipes beside it."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from stepward.model.states import TaskState
from stepward.store.contract import Change, TaskMove
from stepward.store.sqlite import SqliteStore
from stepward.store.sqlite.engine import notifier, wake_pipe_folder
from stepward.store.sqlite.engine.wake_pipe_folder import WakeFolder
from tests.store.conformance.world import World, claimed, scheduler
from tests.store.places import environment, opened
from tests.virtual import settle

FOR_EVER = 3_600.0


@pytest.fixture(autouse=True)
def no_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifier, "LOOK_SECONDS", FOR_EVER)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def folder(file: Path) -> Path:
    return Path(f"{file}-wake")


@pytest.fixture
def world(file: Path) -> World:
    return World(lambda environment: SqliteStore(str(file), app="shop", environment=environment))


@pytest.fixture
async def here(file: Path) -> AsyncIterator[SqliteStore]:
    store = await opened(file)
    yield store
    await store.close()


@pytest.fixture
async def there(here: SqliteStore, file: Path) -> AsyncIterator[SqliteStore]:
    store = await opened(file, environment=environment())
    yield store
    await store.close()


async def listening(store: SqliteStore) -> asyncio.Task[None]:
    task = asyncio.create_task(store.host.stirred(FOR_EVER))
    await settle()
    return task


async def heard(waiting: asyncio.Task[None]) -> None:
    async with asyncio.timeout(5):
        await waiting


async def ended(waiting: asyncio.Task[None]) -> None:
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)


async def test_a_change_wakes_another_process(here: SqliteStore, there: SqliteStore, world: World) -> None:
    waiting = await listening(there)
    there.host.changed()
    await here.client.submit([world.task()])
    await heard(waiting)
    assert there.host.changed()


async def test_the_end_of_an_open_transaction_wakes_both(here: SqliteStore, there: SqliteStore, world: World) -> None:
    waiting = await listening(here), await listening(there)
    async with here.client.transaction() as transaction:
        await transaction.submit([world.task()])
    for each in waiting:
        await heard(each)


async def test_a_turn_wakes_others_where_it_concerns_them(here: SqliteStore, there: SqliteStore, world: World) -> None:
    await scheduler(here, "s1")
    task = await claimed(world, here, "s1")
    waiting = await listening(there)
    await here.scheduler.commit("s1", [Change(task=task.uid)], None)
    await settle()
    assert not waiting.done()
    move = TaskMove(before=TaskState.PROCESSING, after=TaskState.PROCESSED, inbox=0, release=True, at=here.now())
    assert (await here.scheduler.commit("s1", [Change(task=task.uid, move=move)], None)).missed == {}
    await heard(waiting)


async def test_notifications_within_a_pause_are_one_and_the_last_is_not_lost(
    here: SqliteStore, there: SqliteStore
) -> None:
    waiting = await listening(there)
    here._notifier.ring()
    await heard(waiting)
    waiting = await listening(there)
    for _ in range(100):
        here._notifier.ring()
    assert not waiting.done()
    await heard(waiting)


async def test_a_notification_at_the_end_is_not_lost(here: SqliteStore, there: SqliteStore) -> None:
    waiting = await listening(there)
    here._notifier.ring()
    await heard(waiting)
    waiting = await listening(there)
    here._notifier.ring()
    here._notifier.close()
    await heard(waiting)


async def test_a_full_pipe_blocks_no_writer(here: SqliteStore, there: SqliteStore, folder: Path, world: World) -> None:
    waiting = await listening(there)
    (pipe,) = folder.iterdir()
    writing = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    with pytest.raises(BlockingIOError):
        while True:
            os.write(writing, bytes(65_536))
    os.close(writing)
    await here.client.submit([world.task()])
    await heard(waiting)


async def test_pipes_go_with_their_processes_and_the_folder_with_the_last(
    here: SqliteStore, there: SqliteStore, folder: Path
) -> None:
    waiting = await listening(here), await listening(there)
    assert len(list(folder.iterdir())) == 2
    await ended(waiting[0])
    await here.close()
    assert len(list(folder.iterdir())) == 1
    await ended(waiting[1])
    await there.close()
    assert not folder.exists()


async def test_the_pipe_of_a_killed_process_is_passed_over_and_removed(
    here: SqliteStore, there: SqliteStore, folder: Path, world: World
) -> None:
    folder.mkdir(mode=0o700)
    left = folder / "1-1"
    os.mkfifo(left)
    await here.client.submit([world.task("a")])
    assert left.exists()
    waiting = await listening(there)
    assert not left.exists()
    await here.client.submit([world.task("b")])
    await heard(waiting)


async def test_a_pipe_that_was_removed_is_made_again(
    here: SqliteStore, there: SqliteStore, folder: Path, world: World
) -> None:
    waiting = await listening(there)
    (pipe,) = folder.iterdir()
    pipe.unlink()
    await ended(waiting)
    waiting = await listening(there)
    await here.client.submit([world.task()])
    await heard(waiting)


@pytest.mark.parametrize(("store", "around", "pipe"), [(0o600, 0o700, 0o600), (0o660, 0o770, 0o660)])
async def test_pipes_have_the_rights_of_the_store(
    here: SqliteStore, file: Path, folder: Path, store: int, around: int, pipe: int
) -> None:
    file.chmod(store)
    waiting = await listening(here)
    (found,) = folder.iterdir()
    assert (stat.S_IMODE(folder.stat().st_mode), stat.S_IMODE(found.stat().st_mode)) == (around, pipe)
    await ended(waiting)


async def test_a_folder_that_others_may_fill_is_not_used(
    here: SqliteStore, there: SqliteStore, folder: Path, world: World
) -> None:
    folder.mkdir()
    folder.chmod(0o777)
    os.mkfifo(folder / "1-1")
    reading = os.open(folder / "1-1", os.O_RDONLY | os.O_NONBLOCK)
    waiting = asyncio.create_task(there.host.stirred(0.001))
    await heard(waiting)
    await here.client.submit([world.task()])
    assert [path.name for path in folder.iterdir()] == ["1-1"]
    assert os.read(reading, 1) == b""
    os.close(reading)


async def test_what_is_no_pipe_is_not_written(here: SqliteStore, folder: Path, world: World, tmp_path: Path) -> None:
    other = tmp_path / "letter"
    other.write_text("")
    folder.mkdir(mode=0o700)
    (folder / "1-1").symlink_to(other)
    (folder / "1-2").write_text("")
    await here.client.submit([world.task()])
    assert other.read_text() == (folder / "1-2").read_text() == ""


async def test_what_is_no_pipe_is_not_removed(here: SqliteStore, folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "letter"
    other.write_text("")
    folder.mkdir(mode=0o700)
    (folder / "notes").write_text("")
    (folder / "link").symlink_to(other)
    waiting = await listening(here)
    assert {"notes", "link"} < {path.name for path in folder.iterdir()}
    await ended(waiting)


async def test_pipes_that_cannot_be_opened_are_not_taken_for_those_of_the_dead(
    here: SqliteStore, there: SqliteStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process without a descriptor to spare removes none that another reads."""
    waiting = [await listening(here)]
    (pipe,) = folder.iterdir()
    opens = os.open

    def refused(path: str, flags: int, *args: int, **named: int) -> int:
        if Path(path).name == pipe.name:
            raise OSError(errno.EMFILE, "too many open files")
        return opens(path, flags, *args, **named)

    monkeypatch.setattr(os, "open", refused)
    waiting.append(await listening(there))
    assert pipe.exists()
    for each in waiting:
        await ended(each)


async def test_a_link_in_the_place_of_a_new_pipe_is_not_followed(
    here: SqliteStore, file: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user that may write the store must not gain rights on other files of its owner."""
    file.chmod(0o660)
    secret = tmp_path / "secret"
    secret.write_text("")
    secret.chmod(0o600)

    def swapped(name: str, mode: int, *, dir_fd: int | None = None) -> None:
        (folder / Path(name).name).symlink_to(secret)

    monkeypatch.setattr(os, "mkfifo", swapped)
    async with asyncio.timeout(5):
        await here.host.stirred(0.001)
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600


async def test_processes_meet_though_one_opens_the_file_through_a_link(
    here: SqliteStore, file: Path, tmp_path: Path, world: World
) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(file)
    there = await opened(link, environment=environment())
    waiting = await listening(there)
    await here.client.submit([world.task()])
    await heard(waiting)
    await there.close()


async def test_those_beyond_the_most_pipes_look_by_themselves_until_there_is_room(
    here: SqliteStore,
    there: SqliteStore,
    file: Path,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(wake_pipe_folder, "MOST_PIPES", 1)
    monkeypatch.setattr(notifier, "RETRY_SECONDS", 1.0)
    first = await listening(there)
    third = await opened(file, environment=environment())
    for _ in range(3):
        async with asyncio.timeout(5):
            await third.host.stirred(0.01)
    assert len(list(folder.iterdir())) == 1
    assert [record.name for record in caplog.records] == ["stepward.store"]
    await ended(first)
    await there.close()
    await asyncio.sleep(1.0)  # virtual
    second = await listening(third)
    assert len(list(folder.iterdir())) == 1
    await here.messages.put("queue", [(b"body", None)])
    await heard(second)
    await third.close()


async def test_a_writer_holds_no_more_pipes_open_than_the_most(
    here: SqliteStore, there: SqliteStore, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifier, "MOST_PIPES", 1)
    third = await opened(file, environment=environment())
    waiting = [await listening(there), await listening(third)]
    await here.messages.put("queue", [(b"body", None)])
    async with asyncio.timeout(5):
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    await settle()
    assert [task.done() for task in waiting].count(True) == 1
    for task in waiting:
        await ended(task)
    await third.close()


def test_a_name_in_use_is_not_taken_from_its_process(file: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.touch()
    pipes = WakeFolder(str(file))
    first = pipes.make_pipe()
    number = int(first[0].partition("-")[2])
    monkeypatch.setattr("stepward.store.sqlite.engine.wake_pipe_folder._NUMBERS", iter([number, number + 1]))
    second = pipes.make_pipe()
    assert first[0] != second[0]
    for _, *ends in (first, second):
        for end in ends:
            os.close(end)


def test_a_folder_that_has_not_changed_for_long_is_not_listed_again(
    file: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe that is made or removed is seen at the next look."""
    pipes, names = WakeFolder(str(file)), pipes_beside(file, written_ns=10**9)
    listed: list[int] = []
    lists = os.listdir

    def counted(folder: int) -> list[str]:
        listed.append(folder)
        return lists(folder)

    monkeypatch.setattr(os, "listdir", counted)
    for _ in range(3):
        assert set(pipes.names()) == names
    assert len(listed) == 1
    after_a_tick(folder)
    (folder / "more").touch()
    assert set(pipes.names()) == {*names, "more"}
    after_a_tick(folder)
    (folder / "more").unlink()
    assert set(pipes.names()) == names
    folder.chmod(0o777)
    assert pipes.names() == []


def test_a_folder_that_may_change_at_the_same_time_again_is_listed(
    file: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two pipes that are made within a tick of the file system's clock leave one time of the folder."""
    pipes = WakeFolder(str(file))
    names = pipes_beside(file, written_ns=0)
    found = folder.lstat()
    monkeypatch.setattr(Path, "lstat", lambda _: found)
    assert set(pipes.names()) == names
    (folder / "more").touch()
    assert set(pipes.names()) == {*names, "more"}


def pipes_beside(file: Path, written_ns: int) -> set[str]:
    """The names in a new folder beside the file, whose log was written so many nanoseconds after the last change."""
    file.touch()
    folder, log = Path(f"{file}-wake"), Path(f"{file}-wal")
    folder.mkdir(mode=0o700)
    os.mkfifo(folder / "1-1")
    log.touch()
    at = folder.stat().st_ctime_ns + written_ns
    os.utime(log, ns=(at, at))
    return {"1-1"}


def after_a_tick(folder: Path) -> None:
    """Return once the file system's clock shows a later time than that of the folder's last change."""
    probe = folder.with_name("probe")
    probe.touch()
    while probe.stat().st_mtime_ns <= folder.stat().st_ctime_ns:
        probe.touch()
