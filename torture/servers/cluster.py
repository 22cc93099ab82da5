"""The PostgreSQL pair under torture: what is asked of its present primary, and what is done to either server."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import asyncpg

from servers.postgres import Pair, paired
from servers.postgres.server import Server
from torture.servers.clocks import RIGHT, ShiftedClock

SETTINGS = {
    "max_connections": "250",
    # Tells which of a server's processes ended unexpectedly.
    "log_min_messages": "log",
    "log_checkpoints": "off",
    "log_line_prefix": "%m [%p] %b ",
}
RECOVERY_SECONDS = 60.0
"""How long a server may take to recover from the loss of one of its processes."""
RETRY_SECONDS = 0.2
SCHEMA = "stepward_torture"
TABLES = """
create table booked (task text);
create table placed (id text, pid integer, at timestamptz not null default clock_timestamp());
"""
SESSIONS = "backend_type = 'client backend' and application_name ~ '^(shared )?stepward_'"


BEGAN = "select extract(epoch from pg_postmaster_start_time())"


class PostgresPair:
    """A pair, a connection to whichever server is the primary, and the clocks of both."""

    def __init__(self, pair: Pair, clocks: dict[int, ShiftedClock], database: str = "postgres") -> None:
        self.pair = pair
        self.times: list[tuple[float, float, float]] = []
        """How the primary's clock went: from when on, how far ahead, and how fast."""
        self._clocks = clocks
        self._database = database
        self._connection: asyncpg.Connection[asyncpg.Record] | None = None
        self._looking = asyncio.Lock()

    @property
    def address(self) -> str:
        """Of the database, on whichever server is the primary."""
        return self.pair.address(self._database)

    def other(self, database: str) -> PostgresPair:
        """Another database on the same servers."""
        other = PostgresPair(self.pair, self._clocks, database)
        other.times = self.times
        return other

    async def begin(self) -> None:
        """Note how the clocks go."""
        for server in (self.pair.primary, self.pair.standby):
            await self._has_begun(server)
        self._note()

    async def prepare(self) -> None:
        """The tables of the application."""
        if self._database != "postgres":
            await self.pair.primary.execute(f"create database {self._database}")
        await self.pair.primary.execute(TABLES, self._database)

    async def rows(self, sql: str, *values: Any) -> list[asyncpg.Record]:
        """Ask the primary beside Stepward."""
        async with self._looking:
            if self._connection is None or self._connection.is_closed():
                self._connection = await _connected(self.pair.primary.address(self._database))
            return list(await self._connection.fetch(sql, *values))

    async def close(self) -> None:
        if self._connection is not None:
            self._connection.terminate()

    async def crash(self) -> None:
        """Let the primary die at once, and start it again."""
        await asyncio.to_thread(self.pair.primary.stop, immediate=True)
        self.move_clock(self.clock.ahead)
        await asyncio.to_thread(self.pair.primary.start)
        await self._has_begun(self.pair.primary)

    async def fail_over(self, ahead: float = 0.0) -> None:
        """Let the primary die for good: the standby takes its place, whose clock is ahead, and gets a new standby."""
        clock = self._clocks[self.pair.standby.port]
        clock.set(self.clock.ahead + ahead)
        await asyncio.to_thread(self.pair.fail_over)
        self._clocks[self.pair.standby.port].set(clock.ahead)
        self._note()
        await asyncio.to_thread(self.pair.attach)
        await self._has_begun(self.pair.standby)

    @property
    def clock(self) -> ShiftedClock:
        """The primary's."""
        return self._clocks[self.pair.primary.port]

    def move_clock(self, ahead: float, rate: float = RIGHT) -> None:
        """Step the primary's clock, or have it drift."""
        self._note()
        self.clock.set(ahead, rate)
        self._note()

    async def ahead(self) -> float:
        """Seconds by which the primary itself says that its clock is ahead."""
        return float((await self.rows("select extract(epoch from clock_timestamp())"))[0][0]) - time.time()

    async def cut(self) -> int:
        """End every connection of the application; how many there were."""
        found = await self.rows(f"select pg_terminate_backend(pid) from pg_stat_activity where {SESSIONS}")
        return len(found)

    def hold(self) -> None:
        """Stop the standby: commits wait for it."""
        self._tell_standby(signal.SIGSTOP)

    def release(self) -> None:
        """Let the standby go on."""
        self._tell_standby(signal.SIGCONT)

    async def waiting(self) -> int:
        """How many commits wait for the standby."""
        found = await self.rows("select count(*) from pg_stat_activity where wait_event = 'SyncRep'")
        return int(found[0][0])

    def _note(self) -> None:
        self.times.append((time.time(), self.clock.ahead, self.clock.rate))

    async def _has_begun(self, server: Server) -> None:
        """Tell its clock since when its processes are there."""
        connection = await _connected(server.address())
        try:
            began = float(await connection.fetchval(BEGAN))
        finally:
            await connection.close()
        clock = self._clocks[server.port]
        clock.begin(began - clock.ahead)

    def _tell_standby(self, number: signal.Signals) -> None:
        # The process that answers the primary is a child, which a signal to its parent does not reach.
        for pid in [self.pair.standby.pid, *_children(self.pair.standby.pid)]:
            with suppress(ProcessLookupError):  # A child may end at any time.
                os.kill(pid, number)


async def _connected(address: str) -> asyncpg.Connection[asyncpg.Record]:
    """Connect; waits for a server that recovers."""
    end = time.monotonic() + RECOVERY_SECONDS
    while True:
        try:
            return await asyncpg.connect(address, command_timeout=10)
        except (asyncpg.CannotConnectNowError, asyncpg.ConnectionDoesNotExistError):
            if time.monotonic() > end:
                raise
            await asyncio.sleep(RETRY_SECONDS)


def _children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in found.split()]


@contextmanager
def clustered(logs: Path | None = None) -> Iterator[PostgresPair]:
    """A new pair whose clocks can be moved, begun and gone with the block; its logs are left in the folder."""
    clocks: dict[int, ShiftedClock] = {}

    def give(server: Server) -> None:
        clocks[server.port] = ShiftedClock(server.folder.parent / f"{server.folder.name}-clock")
        server.environment = clocks[server.port].environment

    with paired(settings=SETTINGS, prepare=give) as pair:
        try:
            yield PostgresPair(pair, clocks)
        finally:
            if logs is not None:
                for server in (pair.primary, pair.standby):
                    shutil.copy(server.log, logs / f"postgres-{server.log.name}")
