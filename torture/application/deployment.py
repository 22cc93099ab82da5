"""One application under torture: its processes, its store, what people ask of it, and the books that it leaves."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg

from stepward import Client, Queues
from torture.application.application import NAME, SCHEDULE
from torture.application.keeper import ProcessKeeper
from torture.application.load import Load
from torture.books import Records, first_nominal, gather
from torture.faults.migrations import standing
from torture.faults.schema_versions import VARIABLE, Known
from torture.faults.witness import Witness
from torture.oracle import judge
from torture.servers.broker import TorturedBroker
from torture.servers.cluster import SCHEMA, PostgresPair

LOOK_SECONDS = 0.5
REST_SECONDS = 240.0
"""How long everything may take to come to rest once nothing goes wrong any more."""
EVENTS = f"select coalesce(sum(events), 0) from {SCHEMA}.task"
UNDER_WAY = f"select count(*) filter (where finished_at is null), count(*) from {SCHEMA}.task"
LEFT = f"""
select queue, count(*) from {SCHEMA}.message
where expires_at is null or expires_at > extract(epoch from clock_timestamp()) group by queue
"""
BLIND = (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError)


@dataclass(frozen=True, kw_only=True)
class ApplicationSide:
    """Where an application is, and how much of it there is."""

    cluster: PostgresPair
    broker: TorturedBroker | None
    counts: Mapping[str, int]
    folder: Path
    known: Known
    seed: str
    pace: float
    """Tasks a second."""
    prefix: str = ""
    """What keeps it apart at the broker; its tasks are named so, too."""

    @property
    def transport(self) -> str:
        """Where its processes find its queues."""
        return "store" if self.broker is None else self.broker.address(prefix=self.prefix)

    @property
    def variables(self) -> dict[str, str]:
        """For its processes."""
        return {
            "STEPWARD_STORE": self.cluster.address,
            "STEPWARD_TRANSPORT": self.transport,
            VARIABLE: str(self.known.file),
        }


@dataclass(kw_only=True)
class Side:
    """One of them; ``start`` before anything else."""

    place: ApplicationSide
    open: int = 0
    ended: int = 0
    broken: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.keeper = ProcessKeeper(self.place.folder, self.place.variables, self.place.counts)
        self.witness = Witness(self.place.cluster, self.keeper.ledger_url)
        self._first = 0.0
        self._watching: list[asyncio.Task[None]] = []

    async def start(self, stack: AsyncExitStack) -> Load:
        """Start its processes and its load."""
        stack.push_async_callback(self._close)
        place = self.place
        await self.keeper.start()
        posts = place.cluster.address if place.broker is None else place.transport
        with place.known.here():
            self._client = await stack.enter_async_context(Client(place.cluster.address, app=NAME))
            queues = await stack.enter_async_context(Queues(posts, app=NAME))
        chance = random.Random(f"{place.seed}/load")
        self.load = Load(self._client, queues, chance, pace=place.pace, named=place.prefix)
        self._first = await first_nominal(place.cluster)
        self._watching = [asyncio.create_task(work) for work in (self._look(), self.load.read())]
        return self.load

    async def come_to_rest(self) -> None:
        """Wait until nothing is under way; it is broken if something stays so."""
        try:
            async with asyncio.timeout(REST_SECONDS):
                await self.load.settled()
                await self._client.pause_schedule(SCHEDULE)
                while not await self._is_at_rest():  # noqa: ASYNC110  the store alone knows, and is asked again
                    await asyncio.sleep(LOOK_SECONDS)
        except TimeoutError:
            left = [f"{count} in {queue}" for queue, count in await self.place.cluster.rows(LEFT)]
            found = ", ".join([f"{self.open} tasks under way", f"{await self._unheard()} events not heard", *left])
            self.broken.append(f"expected everything to come to rest within {REST_SECONDS:g} s, found {found}")

    async def end(self) -> Records:
        """End its processes, and gather its books."""
        await self.keeper.stop()
        for task in self._watching:
            task.cancel()
        for ended in await asyncio.gather(*self._watching, return_exceptions=True):
            if not isinstance(ended, asyncio.CancelledError):
                self.broken.append(f"expected the reader of events to go on, found {type(ended).__name__}: {ended}")
        self.broken += [*self.keeper.broke, *self.load.errors]
        books = await gather(self.place.cluster, self.load, await self.witness.book(), self._first)
        books.queued.update(await self._at_broker())
        books.standing = await standing(self.place.cluster, self.place.known)
        return books

    def judge(self, books: Records) -> list[str]:
        """The broken rules, one line each."""
        name = f"{self.place.prefix}: " if self.place.prefix else ""
        return [name + line for line in (*self.broken, *judge(books))]

    async def _close(self) -> None:
        await self.keeper.close()
        await self.witness.close()
        await self.place.cluster.close()

    async def _is_at_rest(self) -> bool:
        open_tasks, _ = (await self.place.cluster.rows(UNDER_WAY))[0]
        left = await self.place.cluster.rows(LEFT)
        if open_tasks or left or await self._unheard():
            return False
        return not await self._at_broker()

    async def _unheard(self) -> int:
        """How many events the reader of the responses still waits for."""
        ((events,),) = await self.place.cluster.rows(EVENTS)
        return int(events) - len({event.id for event in self.load.heard})

    async def _at_broker(self) -> dict[str, int]:
        return {} if self.place.broker is None else await self.place.broker.left(self.place.prefix)

    async def _look(self) -> None:
        while True:
            try:
                open_tasks, known = (await self.place.cluster.rows(UNDER_WAY))[0]
                self.open, self.ended = open_tasks, known - open_tasks
            except BLIND:
                pass
            await asyncio.sleep(LOOK_SECONDS)
