"""One run: everything is started, tortured, healed, left to come to rest, ended, and judged."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg
import msgspec

from stepward import Client, Queues
from torture import report
from torture.application import NAME, SCHEDULE
from torture.books import Books, gather, next_nominal
from torture.clock_faults import ClockFaults
from torture.cluster import SCHEMA, Cluster
from torture.faults import Faults
from torture.keeper import Keeper
from torture.load import Load
from torture.oracle import judge
from torture.snapshots import Snapshots
from torture.witness import Witness

COUNTS = {"scheduler": 4, "supervisor": 2, "agent": 3, "submission": 1}
LINE_SECONDS = 5.0
LOOK_SECONDS = 0.5
REST_SECONDS = 240.0
"""How long everything may take to come to rest once nothing goes wrong any more."""
UNDER_WAY = f"select count(*) filter (where finished_at is null), count(*) from {SCHEMA}.task"
LEFT = f"""
select count(*) from {SCHEMA}.message where expires_at is null or expires_at > extract(epoch from clock_timestamp())
"""
BLIND = (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How hard it is to be."""

    seconds: float
    seed: int
    counts: Mapping[str, int] = field(default_factory=lambda: COUNTS)
    pace: float = 4.0
    """Tasks a second."""
    script: Sequence[str] | None = None
    """Faults to be brought about one after the other, instead of drawn ones."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What a run came to."""

    books: Books
    faults: Faults
    broken: list[str]
    table: str


async def torture(plan: Plan, cluster: Cluster, folder: Path) -> Verdict:
    """Run it on a pair that was just made; what is written stays in the folder."""
    async with AsyncExitStack() as stack:
        run = Run(plan, cluster, folder)
        stack.push_async_callback(run.close)
        return await run.verdict(stack)


class Run:
    """The parts of one run."""

    def __init__(self, plan: Plan, cluster: Cluster, folder: Path) -> None:
        self._plan = plan
        self._folder = folder
        self._cluster = cluster
        self._keeper = Keeper(folder, cluster.pair.address(), plan.counts)
        self._witness = Witness(self._cluster, self._keeper.ledger_url)
        self._chance = random.Random(plan.seed)
        self._faults = Faults(self._cluster, self._keeper.actors, self._witness, random.Random(f"{plan.seed}/faults"))
        self._address = cluster.pair.address()
        self._open = 0
        self._ended = 0
        self._began = time.monotonic()

    async def verdict(self, stack: AsyncExitStack) -> Verdict:
        """All of it, from the first process to the last word."""
        await self._cluster.prepare()
        await self._keeper.start()
        client = await stack.enter_async_context(Client(self._address, app=NAME))
        queues = await stack.enter_async_context(Queues(self._address, app=NAME))
        load = Load(client, queues, random.Random(f"{self._plan.seed}/load"), pace=self._plan.pace)
        snapshots = self._widen(load)
        first = await next_nominal(self._cluster)
        watching = [asyncio.create_task(work) for work in (self._look(), self._tell(), load.read())]
        await self._strike(load)
        self._say("healed; everything comes to rest")
        broken = await self._come_to_rest(client, load)
        await self._keeper.stop()
        for task in watching:
            task.cancel()
        await asyncio.gather(*watching, return_exceptions=True)
        books = await gather(self._cluster, load, await self._witness.book(), first, snapshots.taken)
        (self._folder / "books.json").write_bytes(msgspec.json.encode(books))
        broken += [*self._keeper.broke, *load.errors, *judge(books)]
        if not (self._faults.delivered.total() and books.heard):
            broken.append("the run is void: expected faults delivered and events heard, found none; run it for longer")
        return Verdict(books=books, faults=self._faults, broken=broken, table=self._table(books))

    async def close(self) -> None:
        await self._keeper.close()
        await self._witness.close()
        await self._cluster.close()

    def _widen(self, load: Load) -> Snapshots:
        """Have everything drawn that is done beside the processes and the servers themselves."""
        chance = random.Random(f"{self._plan.seed}/clocks")
        self._faults.add(ClockFaults(self._cluster, self._faults, self._witness, chance).chaos())
        chance = random.Random(f"{self._plan.seed}/snapshots")
        snapshots = Snapshots(self._cluster, self._faults, chance, self._folder, load.submitted)
        self._faults.add(snapshots.chaos())
        return snapshots

    async def _strike(self, load: Load) -> None:
        streaming = asyncio.create_task(load.run(lambda: self._open))
        self._say("everything is at work")
        if self._plan.script is None:
            await self._faults.run(self._plan.seconds)
        else:
            for name in self._plan.script:
                await asyncio.sleep(self._plan.seconds / len(self._plan.script))
                await self._faults.strike(name)
        await self._faults.heal()
        streaming.cancel()

    async def _come_to_rest(self, client: Client, load: Load) -> list[str]:
        """What is to be said if it does not."""
        try:
            async with asyncio.timeout(REST_SECONDS):
                await load.settled()
                await client.pause(SCHEDULE)
                while not await self._is_at_rest():  # noqa: ASYNC110  the store alone knows, and is asked again
                    await asyncio.sleep(LOOK_SECONDS)
        except TimeoutError:
            return [
                f"expected everything to come to rest within {REST_SECONDS:g} s, found {self._open} tasks under way"
            ]
        return []

    async def _is_at_rest(self) -> bool:
        open_tasks, _ = (await self._cluster.rows(UNDER_WAY))[0]
        left = (await self._cluster.rows(LEFT))[0][0]
        return bool(open_tasks == 0 and left == 0)

    async def _look(self) -> None:
        while True:
            try:
                open_tasks, known = (await self._cluster.rows(UNDER_WAY))[0]
                self._open, self._ended = open_tasks, known - open_tasks
            except BLIND:
                pass
            await asyncio.sleep(LOOK_SECONDS)

    async def _tell(self) -> None:
        while True:
            await asyncio.sleep(LINE_SECONDS)
            self._say(report.live(time.monotonic() - self._began, self._open, self._ended, self._faults))

    def _say(self, line: str) -> None:
        print(line, flush=True)

    def _table(self, books: Books) -> str:
        lives: Counter[str] = Counter()
        for actor in self._keeper.actors:
            lives[actor.role] += actor.lives
        return report.table(books, self._faults, lives, self._plan.seconds)
