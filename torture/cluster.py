"""The PostgreSQL pair under torture: what is asked of its present primary, and what is done to either server."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

import asyncpg

from servers.postgres import Pair

SCHEMA = "stepward_torture"
TABLES = """
create table booked (task text);
create table placed (id text, pid integer, at timestamptz not null default clock_timestamp());
"""
SESSIONS = "backend_type = 'client backend' and application_name ~ '^(shared )?stepward_'"


class Cluster:
    """A pair, and a connection to whichever server is the primary."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self._connection: asyncpg.Connection[asyncpg.Record] | None = None
        self._looking = asyncio.Lock()

    async def prepare(self) -> None:
        """The tables of the application."""
        await self.pair.primary.execute(TABLES)

    async def rows(self, sql: str, *values: Any) -> list[asyncpg.Record]:
        """Ask the primary beside Stepward."""
        async with self._looking:
            if self._connection is None or self._connection.is_closed():
                self._connection = await asyncpg.connect(self.pair.primary.address(), command_timeout=10)
            return list(await self._connection.fetch(sql, *values))

    async def close(self) -> None:
        if self._connection is not None:
            self._connection.terminate()

    async def crash(self) -> None:
        """Let the primary die at once, and start it again."""
        await asyncio.to_thread(self.pair.primary.stop, immediate=True)
        await asyncio.to_thread(self.pair.primary.start)

    async def fail_over(self) -> None:
        """Let the primary die for good: the standby takes its place, and gets a new standby."""
        await asyncio.to_thread(self.pair.fail_over)
        await asyncio.to_thread(self.pair.attach)

    async def cut(self) -> int:
        """End every connection of the application; how many there were."""
        found = await self.rows(f"select pg_terminate_backend(pid) from pg_stat_activity where {SESSIONS}")
        return len(found)

    def hold(self) -> None:
        """Stop the standby: whoever commits waits for it."""
        self._tell_standby(signal.SIGSTOP)

    def release(self) -> None:
        """Let the standby go on."""
        self._tell_standby(signal.SIGCONT)

    async def waiting(self) -> int:
        """How many commits wait for the standby."""
        found = await self.rows("select count(*) from pg_stat_activity where wait_event = 'SyncRep'")
        return int(found[0][0])

    def _tell_standby(self, number: signal.Signals) -> None:
        # The process that answers the primary is a child, which a signal to its parent does not reach.
        for pid in [self.pair.standby.pid, *_children(self.pair.standby.pid)]:
            with suppress(ProcessLookupError):  # A child may end at any time.
                os.kill(pid, number)


def _children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in found.split()]
