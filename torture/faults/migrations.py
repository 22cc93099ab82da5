"""The store's tables brought to the next version while everything works: under a dump, and by processes of which one is
killed in the middle."""

from __future__ import annotations

import asyncio
import os
import random
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import asyncpg
from msgspec import Struct

from servers.keeper.process import ROOT
from torture.faults.faults import Chaos, TortureFaults
from torture.faults.schema_versions import Known
from torture.faults.snapshots import Snapshots
from torture.servers.cluster import SCHEMA, PostgresPair

COMMAND = ("-m", "stepward", "migrate", "torture.application.application:app")
VERSION = f"select value::integer from {SCHEMA}.meta where key = 'schema_version'"
STANDING = f"""
select ({VERSION}), (select count(*) from {SCHEMA}.meta where key = 'schema_part'),
    (select count(*) from pg_index as i join pg_class as c on c.oid = i.indrelid
        where not i.indisvalid and c.relnamespace = '{SCHEMA}'::regnamespace)
"""
ENDED = f"select count(*) from {SCHEMA}.step where finished_at is not null"
KILL_SECONDS = (0.0, 1.0)
"""After the first part is done."""
DUMP_SECONDS = 30.0
END_SECONDS = 180.0
"""A migration waits for a minute for its turn, and for as long for the locks of each part."""
TRIES = 5
LOOK_SECONDS = 0.2
BLIND = (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError)


class Migration(Struct):
    """One of them."""

    version: int
    ended: int
    """Steps that ended meanwhile."""
    longest: float | None
    """The longest time in which none did, in seconds; None where the servers were hurt meanwhile."""


class Standing(Struct):
    """How far a store's tables are."""

    expected: int
    version: int
    parts: int
    """How many parts of the next version are done."""
    unfinished: int
    """Indexes that were not made to their end."""


class Migrations:
    """Begins them, one at a time."""

    def __init__(
        self,
        cluster: PostgresPair,
        faults: TortureFaults,
        snapshots: Snapshots,
        known: Known,
        variables: Mapping[str, str],
        folder: Path,
        chance: random.Random,
    ) -> None:
        self._cluster = cluster
        self._faults = faults
        self._snapshots = snapshots
        self._known = known
        self._variables = variables
        self._log = folder / "migrate.log"
        self._chance = chance
        self._migrating = asyncio.Lock()
        self._count = 0
        self.done: list[Migration] = []

    def chaos(self) -> Mapping[str, Chaos]:
        """Its kinds."""
        kinds = {"migration, killed": Chaos(2, self._killed, lasts=True)}
        if self._snapshots.can_dump:
            kinds["migration under a dump"] = Chaos(3, self._under_dump, lasts=True)
        return kinds

    async def finish(self) -> None:
        """Bring the store to what processes know, if no server lived for long enough before."""
        async with self._migrating:
            await self._migrate()

    async def _under_dump(self) -> bool:
        """Delivered if a dump was there when it began, work was done all the while, and it came to its end."""
        async with self._migrating, self._faults.alone:
            dumping = asyncio.create_task(self._snapshots.dump())
            with suppress(*BLIND):
                async with asyncio.timeout(DUMP_SECONDS):
                    while not (dumping.done() or await self._snapshots.is_dumping()):  # noqa: ASYNC110
                        await asyncio.sleep(LOOK_SECONDS)
            is_under = not dumping.done()
            version = self._known.next()
            async with self._watched() as moved:
                is_done = await self._migrate()
                is_dumped = await dumping
            ended, longest = await moved
        self.done.append(Migration(version, ended, longest))
        return is_under and is_dumped and is_done and ended > 0

    async def _killed(self) -> bool:
        """Delivered if the first process was killed before it was done, and another came to the end."""
        async with self._migrating:
            version = self._known.next()
            async with self._watched() as moved:
                is_killed = await self._kill()
                is_done = await self._migrate()
            ended, _ = await moved
        self.done.append(Migration(version, ended, None))
        return is_killed and is_done and ended > 0

    async def _kill(self) -> bool:
        """Whether a process was killed in the middle: a transaction that reads steps delays its end until then."""
        running: asyncio.Task[bool] | None = None
        try:
            reader = await asyncpg.connect(self._cluster.pair.primary.address(), command_timeout=30)
            try:
                await reader.execute(f"begin; lock table {SCHEMA}.step in access share mode")
                running = asyncio.create_task(self._run(END_SECONDS))
                while not (running.done() or (await self._cluster.rows(STANDING))[0][1]):  # noqa: ASYNC110
                    await asyncio.sleep(LOOK_SECONDS)
                await asyncio.sleep(self._chance.uniform(*KILL_SECONDS))
                return not running.done()
            finally:
                if running is not None:
                    running.cancel()
                    await asyncio.wait({running})
                reader.terminate()
        except BLIND:
            return False

    async def _migrate(self) -> bool:
        """Try again where a server died."""
        for _ in range(TRIES):
            if await self._run(END_SECONDS):
                return True
        return False

    async def _run(self, seconds: float) -> bool:
        """Whether a process brought it to its end before it was killed."""
        with self._log.open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, *COMMAND),
                cwd=ROOT,
                stdout=log,
                stderr=log,
                env={**os.environ, **self._variables},
            )
        try:
            async with asyncio.timeout(seconds):
                return await process.wait() == 0
        except TimeoutError:
            return False
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    @asynccontextmanager
    async def _watched(self) -> AsyncIterator[asyncio.Task[tuple[int, float]]]:
        """How many steps end within the block, and the longest time in which none does; known at its end."""
        over = asyncio.Event()
        watching = asyncio.create_task(self._watch(over))
        try:
            yield watching
        finally:
            over.set()

    async def _watch(self, over: asyncio.Event) -> tuple[int, float]:
        first = last = await self._ended()
        longest, since = 0.0, time.monotonic()
        while not over.is_set():
            await asyncio.sleep(LOOK_SECONDS)
            if (now := await self._ended()) != last:
                last, since = now, time.monotonic()
            longest = max(longest, time.monotonic() - since)
        return last - first, longest

    async def _ended(self) -> int:
        """How many steps have ended; as before while the store is unavailable."""
        with suppress(*BLIND):
            self._count = int((await self._cluster.rows(ENDED))[0][0])
        return self._count


async def standing(cluster: PostgresPair, known: Known) -> Standing:
    """How far the tables are."""
    version, parts, unfinished = (await cluster.rows(STANDING))[0]
    return Standing(known.version, version, parts, unfinished)
