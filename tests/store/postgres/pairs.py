"""A primary and a standby for the tests of failover: frozen, usurped, and whole again before the next test."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import asyncpg

from servers.postgres import Pair, Server, paired, versions
from stepward.clock import Environment
from stepward.store.address import postgres_place
from stepward.store.postgres import PostgresStore
from tests.store.postgres.server import SETTINGS
from tests.store.postgres.worlds import environment_of

WITHIN = 120.0
LOOK_SECONDS = 0.02
"""Between two looks at what no event tells of; each is a connection of its own."""
IN_SYNC = "select 1 from pg_stat_replication where sync_state in ('sync', 'quorum')"
WAITING = "select pid from pg_stat_activity where wait_event = 'SyncRep' order by pid"


class Stage:
    """A database on a pair, and the stores that a test opens there."""

    def __init__(self, pair: Pair, name: str) -> None:
        self.pair = pair
        self.name = name
        self.address = pair.address(name)
        self._stores: list[PostgresStore] = []

    async def opened(self, address: str | None = None, environment: Environment | None = None) -> PostgresStore:
        """One more store, as another process would have it."""
        place = postgres_place(address or self.address)
        store = PostgresStore(place, app="shop", environment=environment or environment_of())
        self._stores.append(store)
        await store.open()
        return store

    async def rows(self, sql: str, server: Server | None = None) -> list[tuple[Any, ...]]:
        """Run SQL beside all stores, on the primary or another server."""
        connection = await asyncpg.connect((server or self.pair.primary).address(self.name))
        try:
            return [tuple(row) for row in await connection.fetch(sql)]
        finally:
            connection.terminate()

    async def until(self, sql: str, count: int = 1, server: Server | None = None) -> list[tuple[Any, ...]]:
        """Ask the primary, or another server, until so many rows are the answer."""
        async with asyncio.timeout(WITHIN):
            while len(found := await self.rows(sql, server)) != count:  # noqa: ASYNC110 - no event tells of it
                await asyncio.sleep(LOOK_SECONDS)
            return found

    async def fail_over(self, between: Callable[[], None] = lambda: None) -> None:
        """Crash the primary; the standby takes over. ``between`` is called while neither serves."""
        await asyncio.to_thread(self.pair.crash)
        between()
        await asyncio.to_thread(self.pair.take_over)

    async def usurp(self) -> Server:
        """Make a primary of the standby while the old one goes on; the old one."""
        await asyncio.to_thread(self.pair.standby.promote)
        self.pair.primary, self.pair.standby = self.pair.standby, self.pair.primary
        self.pair.expect_standby(False)
        return self.pair.standby

    async def attach(self) -> None:
        """Have the other server follow the primary again, synchronously."""
        await asyncio.to_thread(self.pair.attach)
        await self.until(IN_SYNC)

    async def close(self) -> None:
        for store in self._stores:
            await store.close()
        # The less there is, the faster the next standby is made.
        self.pair.expect_standby(False)
        await self.pair.primary.execute(f"drop database {self.name} with (force)")
        if self.pair.standby.runs:
            self.pair.expect_standby(True)


class Pairs:
    """The pairs of a session, by version; each is whole when a test is given it."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._pairs: dict[str, Pair] = {}
        self._made = 0

    def __enter__(self) -> Pairs:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    async def stage(self, version: str) -> Stage:
        """A new database on the pair of that version, with a standby in sync."""
        if version not in self._pairs:
            self._pairs[version] = await asyncio.to_thread(self._begin, version)
        pair = self._pairs[version]
        stage = Stage(pair, "postgres")
        if not (pair.standby.runs and await stage.rows(IN_SYNC)):
            await stage.attach()
        self._made += 1
        name = f"failover_{self._made}"
        await pair.primary.execute(f"create database {name}")
        # Its commit waited until the standby has it, not until it shows it.
        await stage.until(f"select 1 from pg_database where datname = '{name}'", server=pair.standby)
        return Stage(pair, name)

    def _begin(self, version: str) -> Pair:
        return self._stack.enter_context(paired(versions()[version], SETTINGS))


@contextmanager
def frozen(server: Server) -> Iterator[None]:
    """A server of which nothing moves: it keeps its connections, and answers none."""
    pids = [server.pid, *_children(server.pid)]
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def _children(parent: int) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(folder.name))
        except OSError:  # It has ended meanwhile.
            continue
    return found
