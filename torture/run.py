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

import msgspec

from torture import report
from torture.application.deployment import ApplicationSide, Side
from torture.application.load import Load
from torture.books import Records
from torture.faults.broker_faults import BrokerFaults
from torture.faults.clock_faults import ClockFaults
from torture.faults.faults import TortureFaults
from torture.faults.foreign_store import Trespassers
from torture.faults.migrations import Migrations
from torture.faults.misbehaving_login import Intruder
from torture.faults.schema_versions import BEFORE, NEWEST, Known
from torture.faults.snapshots import Snapshots
from torture.servers.broker import TorturedBroker, brokering
from torture.servers.cluster import PostgresPair

COUNTS = {"scheduler": 4, "supervisor": 2, "agent": 3, "submission": 1}
FEW = {"scheduler": 1, "supervisor": 1, "agent": 1, "submission": 1}
"""Of the second application, which shares the broker and the name."""
SECOND = "second"
SECOND_PACE = 0.7
LINE_SECONDS = 5.0


@dataclass(frozen=True, kw_only=True)
class TorturePlan:
    """How hard it is to be."""

    seconds: float
    seed: int
    counts: Mapping[str, int] = field(default_factory=lambda: COUNTS)
    pace: float = 4.0
    """Tasks a second."""
    transport: str = "store"
    """``store``, ``nats``, ``rabbitmq``, ``amqp10`` or ``activemq``; with a broker a second application is beside."""
    script: Sequence[str] | None = None
    """Faults to be brought about one after the other, instead of drawn ones."""
    spoilt: str = ""
    """What each migration does besides, where that is to be found."""


@dataclass(frozen=True, kw_only=True)
class TortureVerdict:
    """What a run came to."""

    books: Records
    faults: TortureFaults
    broken: list[str]
    table: str


async def torture(plan: TorturePlan, cluster: PostgresPair, folder: Path) -> TortureVerdict:
    """Run it on a pair that was just made; what is written stays in the folder."""
    with brokering(plan.transport) as broker:
        async with AsyncExitStack() as stack:
            return await TortureRun(plan, cluster, broker, folder).verdict(stack)


class TortureRun:
    """The parts of one run."""

    def __init__(self, plan: TorturePlan, cluster: PostgresPair, broker: TorturedBroker | None, folder: Path) -> None:
        self._plan = plan
        self._folder = folder
        self._cluster = cluster
        self._hurt = None if broker is None else broker.hurt
        seed = str(plan.seed)
        self._known = Known(folder / "schema", BEFORE, plan.spoilt)
        place = ApplicationSide(
            cluster=cluster,
            broker=broker,
            counts=plan.counts,
            folder=folder,
            known=self._known,
            seed=seed,
            pace=plan.pace,
        )
        self._side = Side(place=place)
        self._second = None if broker is None else Side(place=_beside(place))
        chance = self._chance("faults")
        self._faults = TortureFaults(cluster, self._side.keeper.actors, self._side.witness, chance)
        self._snapshots = Snapshots(cluster, self._faults, self._chance("snapshots"), folder)
        self._migrations = Migrations(
            cluster,
            self._faults,
            self._snapshots,
            self._known,
            place.variables,
            folder,
            self._chance("migrations"),
        )
        self._trespassers: Trespassers | None = None
        chance = self._chance("intruder")
        self._intruder = None if broker is None else Intruder(cluster, broker, self._faults, chance)
        self._began = time.monotonic()

    async def verdict(self, stack: AsyncExitStack) -> TortureVerdict:
        """Runs everything, from the first process to the verdict."""
        await self._cluster.begin()
        if self._hurt is not None:
            await self._hurt.relay.start()
            stack.push_async_callback(self._hurt.relay.close)
        sides = [side for side in (self._side, self._second) if side is not None]
        for side in sides:
            await side.place.cluster.prepare()
            await side.start(stack)
        self._widen()
        telling = asyncio.create_task(self._tell())
        await self._strike([side.load for side in sides])
        self._say("healed; everything comes to rest")
        await asyncio.gather(*(side.come_to_rest() for side in sides))
        telling.cancel()
        books = await self._books()
        (self._folder / "books.json").write_bytes(msgspec.json.encode(books))
        broken = self._side.judge(books)
        if self._second is not None and books.beside is not None:
            broken += self._second.judge(books.beside)
        if not (self._faults.delivered.total() and books.heard):
            broken.append("the run is void: expected faults delivered and events heard, found none; run it for longer")
        return TortureVerdict(books=books, faults=self._faults, broken=broken, table=self._table(books))

    def _chance(self, what: str) -> random.Random:
        return random.Random(f"{self._plan.seed}/{what}")

    def _widen(self) -> None:
        """Have everything drawn that is done beside the processes and the servers themselves."""
        clocks = ClockFaults(self._cluster, self._faults, self._side.witness, self._chance("clocks"))
        self._faults.add(clocks.chaos())
        self._snapshots.acknowledged = self._side.load.submitted
        self._faults.add(self._snapshots.chaos())
        self._faults.add(self._migrations.chaos())
        if self._second is not None:
            variables = {**self._second.place.variables, "STEPWARD_TRANSPORT": self._side.place.transport}
            self._trespassers = Trespassers(self._folder, variables, self._chance("trespassers"))
            self._faults.add(self._trespassers.chaos())
        if self._intruder is not None:
            self._faults.add(self._intruder.chaos())
        if self._hurt is not None:
            self._faults.add(BrokerFaults(self._hurt, self._faults, self._chance("broker")).chaos())

    async def _strike(self, loads: Sequence[Load]) -> None:
        streaming = [asyncio.create_task(load.run(lambda: self._side.open)) for load in loads]
        self._say(f"everything is at work, over {self._plan.transport}")
        if self._plan.script is None:
            await self._faults.run(self._plan.seconds)
        else:
            for name in self._plan.script:
                await asyncio.sleep(self._plan.seconds / len(self._plan.script))
                await self._faults.strike(name)
        await self._faults.heal()
        await self._migrations.finish()
        for stream in streaming:
            stream.cancel()

    async def _books(self) -> Records:
        books = await self._side.end()
        books.snapshots = self._snapshots.taken
        books.migrations = self._migrations.done
        if self._second is not None:
            books.beside = await self._second.end()
        if self._trespassers is not None:
            books.trespasses = self._trespassers.came
        if self._intruder is not None:
            books.intrusions = self._intruder.done
        return books

    async def _tell(self) -> None:
        while True:
            await asyncio.sleep(LINE_SECONDS)
            side = self._side
            self._say(report.live(time.monotonic() - self._began, side.open, side.ended, self._faults))

    def _say(self, line: str) -> None:
        print(line, flush=True)

    def _table(self, books: Records) -> str:
        lives: Counter[str] = Counter()
        for actor in self._side.keeper.actors:
            lives[actor.role] += actor.starts
        return report.table(books, self._faults, lives, self._plan.seconds)


def _beside(place: ApplicationSide) -> ApplicationSide:
    """Where the second application is: a database of its own on the same servers, and a prefix at the same broker."""
    folder = place.folder / SECOND
    folder.mkdir()
    return ApplicationSide(
        cluster=place.cluster.other(SECOND),
        broker=place.broker,
        counts=FEW,
        folder=folder,
        known=Known(folder / "schema", NEWEST),
        seed=f"{place.seed}/{SECOND}",
        pace=SECOND_PACE,
        prefix=SECOND,
    )
