"""Snapshots that are held for long while everything works: by a reader, and by pg_dump on a slow disk."""

from __future__ import annotations

import asyncio
import random
import signal
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

import asyncpg
from msgspec import Struct

from torture.faults.faults import Chaos, Strike, TortureFaults
from torture.servers.cluster import SCHEMA, PostgresPair

HOLD_SECONDS = (5.0, 15.0)
SLOW_SECONDS = (5.0, 12.0)
DUMP_SECONDS = 120.0
TRIES = 3
LOOK_SECONDS = 0.02
BEGIN = "begin isolation level repeatable read read only"
IDS = f"select id from {SCHEMA}.task order by id"
DUMPING = "select count(*) from pg_stat_activity where application_name = 'pg_dump' and backend_xmin is not null"
HEAD = f"COPY {SCHEMA}.task ("
END = "\\."
BLIND = (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError)


class Snapshot(Struct):
    """What one of them saw."""

    by: str
    acknowledged: list[str]
    """Tasks whose submission was acknowledged before it began."""
    seen: list[str]
    again: list[str]
    """What it saw at its end."""


class Snapshots:
    """Holds them."""

    def __init__(self, cluster: PostgresPair, faults: TortureFaults, chance: random.Random, folder: Path) -> None:
        self._cluster = cluster
        self._faults = faults
        self._chance = chance
        self._file = folder / "dump.sql"
        self._dumping = asyncio.Lock()
        self.acknowledged: Collection[str] = ()
        """Tasks whose submission was acknowledged, as they come."""
        self.taken: list[Snapshot] = []

    def chaos(self) -> Mapping[str, Chaos]:
        """Its kinds; no dump where the program is missing."""
        tries = {"snapshot held": self._hold, "dump": self.dump}
        if not self.can_dump:
            del tries["dump"]
        return {name: Chaos(3, partial(self._until_held, hold), lasts=True) for name, hold in tries.items()}

    async def _until_held(self, hold: Strike) -> bool:
        """Try again where its server died."""
        for _ in range(TRIES):
            if await hold():
                return True
        return False

    async def _hold(self) -> bool:
        """Delivered if work was done until its end, and its server lived."""
        acknowledged = list(self.acknowledged)
        try:
            connection = await asyncpg.connect(self._cluster.pair.primary.address(), command_timeout=30)
        except BLIND:
            return False
        try:
            await connection.execute(BEGIN)
            seen = [row[0] for row in await connection.fetch(IDS)]
            await asyncio.sleep(self._chance.uniform(*HOLD_SECONDS))
            works = await self._faults.are_committing()
            again = [row[0] for row in await connection.fetch(IDS)]
        except BLIND:
            return False
        finally:
            connection.terminate()
        self.taken.append(Snapshot("a reader", acknowledged, seen, again))
        return works

    @property
    def can_dump(self) -> bool:
        """Whether the program is at hand."""
        return self._program.exists()

    async def is_dumping(self) -> bool:
        """Whether a dump has its snapshot."""
        return bool((await self._cluster.rows(DUMPING))[0][0])

    async def dump(self) -> bool:
        """Delivered if work was done while it stood still, and it came to its end."""
        async with self._dumping:
            return await self._dump()

    async def _dump(self) -> bool:
        acknowledged = list(self.acknowledged)
        address = self._cluster.pair.primary.address()
        command = [str(self._program), "--no-password", "--file", str(self._file), "--dbname", address]
        with self._file.with_suffix(".log").open("ab") as errors:
            dump = await asyncio.create_subprocess_exec(*command, stderr=errors)
        try:
            async with asyncio.timeout(DUMP_SECONDS):
                works = await self._slow(dump)
                code = await dump.wait()
        except BLIND:
            return False
        finally:
            with suppress(ProcessLookupError):
                dump.kill()
            await dump.wait()
        if code:
            return False
        seen = sorted(_dumped(self._file))
        self.taken.append(Snapshot("pg_dump", acknowledged, seen, seen))
        return works

    async def _slow(self, dump: asyncio.subprocess.Process) -> bool:
        """Stop it once it has its snapshot, as a disk that is full or slow does; whether others worked meanwhile."""
        while dump.returncode is None and not await self.is_dumping():  # noqa: ASYNC110
            await asyncio.sleep(LOOK_SECONDS)
        if dump.returncode is not None:
            return False
        dump.send_signal(signal.SIGSTOP)
        await asyncio.sleep(self._chance.uniform(*SLOW_SECONDS))
        works = await self._faults.are_committing()
        dump.send_signal(signal.SIGCONT)
        return works

    @property
    def _program(self) -> Path:
        return self._cluster.pair.primary.programs / "pg_dump"


def _dumped(file: Path) -> Iterator[str]:
    """The ids of the tasks in a dump."""
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            if line.startswith(HEAD):
                place = line.partition("(")[2].partition(")")[0].split(", ").index("id")
                break
        for line in lines:
            if line.rstrip("\n") == END:
                return
            yield line.split("\t")[place]
