"""A log that has become long is written into the file, and no commit waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepward.store.sqlite.engine import connection as engine
from stepward.store.sqlite.engine.connection import BEGIN_WRITE, Connection

PAGES = 50
PAGE_BYTES = 4096


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tasks.db"
    path.touch()
    return path


@pytest.fixture
def connection(file: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connection]:
    monkeypatch.setattr(engine, "CHECKPOINT_PAGES", PAGES)
    monkeypatch.setattr(engine, "LATE_PAGES", 2 * PAGES)
    made = Connection(str(file))
    made.raw.pragma("journal_mode", "wal")
    made.tune("full")
    made.change("create table row (body blob)")
    yield made
    made.close()


def commit(connection: Connection, pages: int) -> None:
    connection.begin(BEGIN_WRITE)
    connection.change("insert into row values (?)", (b"x" * pages * PAGE_BYTES,))
    connection.commit()


def holds(file: Path) -> bool:
    return b"x" * (PAGE_BYTES // 2) in file.read_bytes()


async def test_a_long_log_is_written_into_the_file_in_the_next_pass_of_the_event_loop(
    connection: Connection, file: Path
) -> None:
    commit(connection, PAGES)
    assert not holds(file)
    await asyncio.sleep(0)
    assert holds(file)


async def test_a_short_log_stays(connection: Connection, file: Path) -> None:
    commit(connection, PAGES // 2)
    await asyncio.sleep(0)
    assert not holds(file)


def test_without_an_event_loop_a_long_log_is_written_at_once(connection: Connection, file: Path) -> None:
    commit(connection, PAGES)
    assert holds(file)


async def test_a_log_that_could_not_be_written_is_so_with_a_later_commit(connection: Connection, file: Path) -> None:
    commit(connection, PAGES)
    connection.begin(BEGIN_WRITE)
    await asyncio.sleep(0)
    assert not holds(file)
    connection.commit()
    commit(connection, 1)
    await asyncio.sleep(0)
    assert holds(file)


async def test_transactions_that_follow_one_another_do_not_let_the_log_grow_on(
    connection: Connection, file: Path
) -> None:
    log = file.with_name(f"{file.name}-wal")
    connection.begin(BEGIN_WRITE)
    for _ in range(20):
        connection.change("insert into row values (?)", (b"x" * (PAGES // 2) * PAGE_BYTES,))
        await asyncio.sleep(0)
        connection.commit()
        connection.begin(BEGIN_WRITE)
    connection.rollback()
    assert log.stat().st_size < 4 * PAGES * PAGE_BYTES


async def test_a_connection_that_was_closed_meanwhile_is_left_alone(connection: Connection, file: Path) -> None:
    commit(connection, PAGES)
    connection.close()
    await asyncio.sleep(0)
    assert holds(file)
