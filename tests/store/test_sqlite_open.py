from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepward.errors import StepwardError, StoreUnavailable, StoreUnusable
from stepward.store.contract import Store
from stepward.store.sqlite import SqliteStore
from stepward.store.sqlite.schema.migration import migrations
from stepward.store.sqlite.store_file import prepare_file
from tests.store.listing import listed
from tests.store.places import environment, execute, opened, sqlite

pytestmark = pytest.mark.by_migrations

NOBODY = 65534
LOCKS = Path("/proc/locks")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def unprivileged() -> Iterator[None]:
    """Without the superuser's power to write everywhere."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    yield
    os.seteuid(0)


async def refusal(store: Store) -> StepwardError:
    """The error with which the store refuses to open, which must be one line."""
    with pytest.raises(StepwardError) as caught:
        await store.open()
    assert "\n" not in str(caught.value)
    return caught.value


def test_it_is_a_store() -> None:
    store: Store = SqliteStore("never-opened.db", app="shop", environment=environment())
    assert store.now() > 0


async def test_a_new_file_is_its_owners_alone(file: Path) -> None:
    store = await opened(file)
    assert {stat.S_IMODE(path.stat().st_mode) for path in file.parent.iterdir()} == {0o600}
    assert len(list(file.parent.iterdir())) == 3
    await store.close()


async def test_a_store_opens_again_and_keeps_what_it_holds(file: Path) -> None:
    first = await opened(file)
    await first.close()
    second = await opened(file)
    assert await listed(second) == []
    await second.close()
    with pytest.raises(StoreUnavailable, match="expected an open store, found a closed one"):
        await listed(second)


async def test_many_open_a_new_file_at_once(file: Path) -> None:
    stores = [sqlite(file) for _ in range(8)]
    await asyncio.gather(*[store.open() for store in stores])
    assert execute(file, "select value from stepward_meta where key = 'schema_version'") == [(migrations()[-1][0],)]
    for store in stores:
        await store.close()


async def test_application_tables_may_be_there_before(file: Path) -> None:
    execute(file, "create table cart (name text)")
    store = await opened(file)
    await store.close()


async def test_what_is_no_database_is_refused_and_left_as_it_is(file: Path) -> None:
    file.write_text("dear diary, " * 100)
    error = await refusal(sqlite(file))
    assert isinstance(error, StoreUnusable)
    assert "expected a SQLite database" in str(error)
    assert file.read_text() == "dear diary, " * 100


async def test_another_programs_database_is_refused(file: Path) -> None:
    execute(file, "pragma application_id = 77; create table other (x)")
    error = await refusal(sqlite(file))
    assert isinstance(error, StoreUnusable)
    assert "application_id 77" in str(error)
    assert execute(file, "select name from sqlite_schema") == [("other",)]


async def test_another_apps_store_is_refused(file: Path) -> None:
    await (await opened(file, app="blog")).close()
    error = await refusal(sqlite(file))
    assert isinstance(error, StoreUnusable)
    assert "expected the app 'shop', found the store of 'blog'" in str(error)


@pytest.mark.parametrize("version", ["value + 1", "'two'"])
async def test_a_newer_schema_is_refused(file: Path, version: str) -> None:
    await (await opened(file)).close()
    execute(file, f"update stepward_meta set value = {version} where key = 'schema_version'")
    error = await refusal(sqlite(file))
    assert isinstance(error, StoreUnusable)
    assert "upgrade this program" in str(error)


async def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    error = await refusal(sqlite(tmp_path / "none" / "store.db"))
    assert isinstance(error, StoreUnavailable)
    assert f"expected the folder {tmp_path / 'none'}" in str(error)


async def test_a_folder_is_no_file(tmp_path: Path) -> None:
    error = await refusal(sqlite(tmp_path))
    assert isinstance(error, StoreUnavailable)
    assert "Is a directory" in str(error)


@pytest.mark.usefixtures("tmp_path")
async def test_a_read_only_file_is_refused(file: Path, request: pytest.FixtureRequest) -> None:
    await (await opened(file)).close()
    _let_others_see(file)
    file.chmod(0o444)
    request.getfixturevalue("unprivileged")
    error = await refusal(sqlite(file))
    assert isinstance(error, StoreUnavailable)
    assert "Permission denied" in str(error)


async def test_a_read_only_folder_is_refused(file: Path, request: pytest.FixtureRequest) -> None:
    await (await opened(file)).close()
    _let_others_see(file)
    if os.geteuid() == 0:
        os.chown(file, NOBODY, NOBODY)
    file.parent.chmod(0o555)
    request.getfixturevalue("unprivileged")
    error = await refusal(sqlite(file))
    assert isinstance(error, StoreUnavailable)
    assert "read-only" in str(error)


async def test_a_file_that_turns_read_only_is_reported_as_such(file: Path) -> None:
    store = await opened(file)
    connection = store._database.connection
    assert connection is not None
    connection.raw.pragma("query_only", True)
    with pytest.raises(StoreUnavailable, match="read-only"):
        await store.supervisor.lead("one", 10)
    await store.close()


def _let_others_see(file: Path) -> None:
    """Open the way to the file: tests' folders are their owner's alone."""
    for folder in file.parents:
        if folder.stat().st_uid == os.geteuid() and folder != folder.parent:
            mode = stat.S_IMODE(folder.stat().st_mode)
            if not mode & 0o011:
                folder.chmod(mode | 0o011)


@pytest.mark.parametrize("mode", [0o666, 0o602])
async def test_a_world_writable_file_is_refused(file: Path, mode: int) -> None:
    file.touch()
    file.chmod(mode)
    error = await refusal(sqlite(file))
    assert isinstance(error, StoreUnusable)
    assert "expected a file that only its owner and group may write" in str(error)
    file.chmod(0o660)
    store = await opened(file)
    await store.close()


async def test_a_world_writable_folder_is_refused(file: Path) -> None:
    folder = file.parent
    folder.chmod(0o777)
    error = await refusal(sqlite(file))
    assert isinstance(error, StoreUnusable)
    assert f"found {folder}, where all users may; run chmod o-w on it" in str(error)
    folder.chmod(0o1777)
    store = await opened(file)
    await store.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser may give files away")
async def test_in_a_folder_of_all_users_another_users_file_is_refused(file: Path) -> None:
    file.parent.chmod(0o1777)
    file.touch(0o600)
    os.chown(file, NOBODY, NOBODY)
    assert "expected a folder in which only its owner and group may write" in str(await refusal(sqlite(file)))


async def test_a_pipe_is_refused_and_not_waited_for(file: Path) -> None:
    os.mkfifo(file)
    assert "expected a plain file, found a pipe or a device; name another file" in str(await refusal(sqlite(file)))


async def test_a_closed_store_is_one_file_also_after_it_was_read_beside_the_loop(tmp_path: Path) -> None:
    """A copy of the file of a stopped application is complete."""
    store = SqliteStore(str(tmp_path / "store.db"), app="shop", environment=environment())
    await store.open()
    await store.operators.changes(None)
    await store.close()
    assert [path.name for path in tmp_path.iterdir()] == ["store.db"]


@pytest.mark.skipif(not LOCKS.exists(), reason="only Linux lists the locks of a file")
async def test_a_second_store_object_leaves_the_locks_of_the_first(tmp_path: Path) -> None:
    file = tmp_path / "store.db"

    def locks() -> int:
        return sum(f":{file.stat().st_ino} " in line for line in LOCKS.read_text().splitlines())

    first = await opened(file)
    assert locks() == 1
    prepare_file(str(file))
    assert locks() == 1
    await first.close()
