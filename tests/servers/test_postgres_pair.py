"""The database servers of the example: one dies, the other goes on, and none outlives its keeper."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from servers.keeper.pair_process import PairProcess
from servers.keeper.pair_state import Standing
from servers.keeper.process import ProcessDied, Upkeep
from showcase.faults.standby import states_at_standby

pytestmark = pytest.mark.servers

LONGEST_SECONDS = 60


class Kept(PairProcess):
    """A pair, all that was said of how it stands, and how it was lost."""

    def __init__(self, logs: Path) -> None:
        self.told: list[Standing] = []
        self.lost: asyncio.Future[ProcessDied] = asyncio.get_running_loop().create_future()
        upkeep = Upkeep(logs=logs, restarting=False, on_loss=self.lost.set_result)
        super().__init__(upkeep=upkeep, on_change=self.told.append)


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Kept]:
    async with Kept(tmp_path) as pair:
        yield pair


async def _rows(pair: Kept, sql: str) -> list[asyncpg.Record]:
    connection = await asyncpg.connect(f"{pair.address}?target_session_attrs=primary")
    try:
        rows: list[asyncpg.Record] = await connection.fetch(sql)
        return rows
    finally:
        await connection.close()


async def kill(pid: int) -> None:
    """End a process that is not this one's child, as `kill -9` does, and wait until it has ended."""
    place = os.pidfd_open(pid)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(place, ended.set)
    os.kill(pid, signal.SIGKILL)
    await ended.wait()
    asyncio.get_running_loop().remove_reader(place)
    os.close(place)


async def _gone(standing: Standing) -> bool:
    """Whether no server listens any more."""
    for server in (standing.primary, standing.standby):
        assert server is not None
        with pytest.raises(OSError):
            await asyncio.open_connection("127.0.0.1", server.port)
    return True


async def test_the_standby_takes_over_and_the_dead_comes_back_as_its_standby(pair: Kept) -> None:
    before = pair.standing
    assert before.standby is not None
    await _rows(pair, "create table customer_order (id text, state text)")
    await _rows(pair, "insert into customer_order values ('order-1', 'Processed')")
    assert await states_at_standby(before) == {"order-1": "Processed"}
    os.kill(before.primary.pid, signal.SIGKILL)
    async with asyncio.timeout(LONGEST_SECONDS):
        promoted = await pair.promoted(before.primary.port)
        assert promoted.primary == before.standby
        await _rows(pair, "insert into customer_order values ('order-2', 'Undone')")
        after = await pair.whole()
    assert after.standby is not None
    assert (after.primary, after.standby.port) == (before.standby, before.primary.port)
    assert await states_at_standby(after) == {"order-1": "Processed", "order-2": "Undone"}
    [row] = await _rows(pair, "select sync_state from pg_stat_replication")
    assert row["sync_state"] == "sync"
    assert pair.told == [before, promoted, after]


@pytest.mark.faults
async def test_a_primary_whose_standby_dies_goes_on_and_is_given_another(pair: Kept) -> None:
    before = pair.standing
    assert before.standby is not None
    os.kill(before.standby.pid, signal.SIGKILL)
    async with asyncio.timeout(LONGEST_SECONDS):
        await _rows(pair, "create table written (what text)")
        while len(pair.told) < 3:
            await _rows(pair, "insert into written values ('meanwhile')")
    _, alone, after = pair.told
    assert (alone.standby, after.standby is not None, after.primary) == (None, True, before.primary)


@pytest.mark.faults
async def test_both_servers_end_with_their_keeper(tmp_path: Path) -> None:
    pair = Kept(tmp_path)
    with pytest.raises(RuntimeError, match=r"postgres was never started: call start\(\) first"):
        pair.standing  # noqa: B018  the property is what is tested
    await pair.start()
    assert await pair.terminate() == 0
    assert await _gone(pair.standing)
    assert not pair.lost.done()


@pytest.mark.faults
async def test_a_pair_of_which_both_die_is_lost_with_the_reason(pair: Kept) -> None:
    standing = pair.standing
    assert standing.standby is not None
    # Stopped, so that it sees nothing until both are dead.
    os.kill(pair.pid, signal.SIGSTOP)
    async with asyncio.timeout(LONGEST_SECONDS):
        for server in (standing.primary, standing.standby):
            await kill(server.pid)
        os.kill(pair.pid, signal.SIGCONT)
        died = await pair.lost
    expected = (
        "postgres exited with 1, unasked; it said last: postgres: expected one server that goes on, found both dead"
    )
    assert expected in str(died)


async def test_a_pair_that_cannot_start_reports_the_reason(tmp_path: Path) -> None:
    pair = Kept(tmp_path)
    async with await asyncio.start_server(lambda _reader, _writer: None, "127.0.0.1", pair.ports[1]):
        with pytest.raises(ProcessDied, match=r"postgres: .*expected its servers.*PostgreSQL: expected it to start"):
            await pair.start()
    assert await pair.terminate() == 1
