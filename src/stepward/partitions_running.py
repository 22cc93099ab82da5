"""A running application over several stores in one process: actors for each partition, and a client on all."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from stepward.clock import Environment
from stepward.encryption import codec_of
from stepward.errors import (
    CommitUnknown,
    SettingsError,
    StepwardError,
    StoreError,
    StoreUnavailable,
    StoreUnusable,
)
from stepward.events import Hints, Observers
from stepward.host import PartitionPlace, place_of
from stepward.running import Running, keeper_for
from stepward.runtime.cancelling import to_its_end
from stepward.settings import Settings
from stepward.store.partitions.partition import Partition
from stepward.store.partitions.partition_routing import REFRESH_SECONDS
from stepward.store.partitions.partitioned_store import PartitionedStore
from stepward.store.partitions.placement import partition_name
from stepward.supervisor.pass_report import PassReport

UNUSABLE_SECONDS = 5.0
"""Seconds between two tries to start actors on a store that could be reached, and not be used."""


class BeginPartition(Protocol):
    """Starts the actors of one store."""

    async def __call__(self, settings: Settings, *, place: PartitionPlace) -> Running:
        """Raises StoreUnavailable."""
        ...


PassOver = Callable[[Settings, PartitionPlace | None], Awaitable[PassReport]]
"""Makes one pass of the Supervisor over one store."""


class PartitionsRunning(Running):
    """The actors of this process for several stores; each partition has actors of its own, and none waits for another.

    A store that cannot be reached is tried again until it can. ``store`` is the one that is made of all.
    """

    def __init__(
        self, store: PartitionedStore, settings: Settings, observers: Observers, served: Sequence[int]
    ) -> None:
        self._whole = store
        self.store = store
        self.hints = Hints()
        self._observers = observers
        self._loop = asyncio.get_running_loop()
        self._poll = settings.poll
        self._transport = settings.transport
        self._served = {number: _settings_of(settings, number) for number in served}
        self._started: dict[int, Running] = {}
        self._waiting_for: dict[int, str] = {}
        """By partition, why its actors have not started."""
        self._actors: list[asyncio.Task[None]] = []
        self._ended = asyncio.Event()
        self._watches: list[asyncio.Task[None]] = []

    @property
    def lent(self) -> dict[str, Any]:
        """Schedulers see what clients write when they are notified."""
        return {"hints": self.hints, "transport": self._transport}

    async def start(self, begin: BeginPartition) -> None:
        """Start the actors of every partition that can be reached. Raises StoreError if none can."""
        await self.store.open()
        first = [asyncio.get_running_loop().create_future() for _ in self._served]
        self._watches = [
            asyncio.create_task(self._follow_moves(), name="placement"),
            asyncio.create_task(self._reach_others(), name="others"),
        ]
        self._actors = [
            asyncio.create_task(self._run(number, begin, tried), name=partition_name(number))
            for number, tried in zip(self._served, first, strict=True)
        ]
        try:
            failures = [failure for failure in await asyncio.gather(*first) if failure is not None]
            if len(failures) == len(first):
                raise failures[0]
        except BaseException:
            await to_its_end(self.stop())
            raise

    def unready(self) -> list[str]:
        """Why no partition can do its work; empty if one can."""
        reasons = [(number, self._reasons(number)) for number in self._served]
        if any(not lines for _, lines in reasons):
            return []
        return [f"{partition_name(number)}: {line}" for number, lines in reasons for line in lines]

    def waits(self) -> dict[str, float]:
        waits: dict[str, float] = {}
        for agent, seconds in (item for running in self._started.values() for item in running.waits().items()):
            waits[agent] = max(seconds, waits.get(agent, 0.0))
        return waits

    async def wait(self) -> None:
        await self._ended.wait()
        for actor in self._actors:
            if actor.done():
                actor.result()

    async def stop(self) -> None:
        """End every actor in good order, then close the stores."""
        starting = [
            actor
            for number, actor in zip(self._served, self._actors, strict=True)
            if number not in self._started and actor.cancel()
        ]
        try:
            # A second cancellation would keep what is being opened from being closed.
            await asyncio.gather(*starting, return_exceptions=True)
            ends = await asyncio.gather(*(each.stop() for each in self._started.values()), return_exceptions=True)
        finally:
            await self.close()
        for end in ends:
            if isinstance(end, BaseException):
                raise end

    async def close(self) -> None:
        """Close the store that is made of all."""
        tasks = [*self._actors, *self._watches]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.store.close()

    async def _follow_moves(self) -> None:
        """Sees which shards have moved: submission queues take what is placed in their store alone."""
        while True:
            await asyncio.sleep(max(self._poll, REFRESH_SECONDS))
            await self._whole.partitions.refresh(after=REFRESH_SECONDS)

    async def _reach_others(self) -> None:
        """Opens the stores that others serve once they can be reached: an alert is raised here for one that is down."""
        others = [each for each in self._whole.partitions.members if each.number not in self._served]
        while True:
            await asyncio.sleep(max(self._poll, REFRESH_SECONDS))
            for partition in others:
                with suppress(StoreUnavailable):
                    await partition.open()

    def _reasons(self, number: int) -> list[str]:
        running = self._started.get(number)
        return [self._waiting_for.get(number, "starting")] if running is None else running.unready()

    async def _run(self, number: int, begin: BeginPartition, tried: asyncio.Future[StoreError | None]) -> None:
        """Run the actors of one partition from when its store can be reached, until one ends by a bug.

        Where the store cannot be used they are started again once it can, and those of the others go on.
        """
        try:
            while True:
                await self._start(number, begin, tried)
                try:
                    return await self._started[number].wait()
                except StoreUnusable as error:
                    await self._give_up(number, error)
        except BaseException as error:
            if not tried.done():
                tried.set_exception(error)
            raise
        finally:
            self._ended.set()

    async def _start(self, number: int, begin: BeginPartition, tried: asyncio.Future[StoreError | None]) -> None:
        """Start them once the store can be used."""
        partition = self._whole.partitions.numbered(number)
        while number not in self._started:
            try:
                running = await self._begun(partition, begin)
            except (StoreUnavailable, CommitUnknown) as error:
                # A store that goes down during the start says either.
                if self._waiting_for.get(number) != str(error):
                    self._observers.emit("store.unavailable", error=str(error))
                failure: StoreError = StoreUnavailable(str(error))
            except StoreUnusable as error:
                self._report(partition, error)
                failure = error
            else:
                self._started[number], partition.unusable = running, None
                self._waiting_for.pop(number, None)
                return _answer(tried, None)
            self._waiting_for[number] = str(failure)
            _answer(tried, failure)
            await asyncio.sleep(self._poll if partition.unusable is None else max(self._poll, UNUSABLE_SECONDS))

    async def _give_up(self, number: int, error: StoreUnusable) -> None:
        """End the actors of a store that cannot be used. Raises the error where no other partition is served."""
        partition = self._whole.partitions.numbered(number)
        self._report(partition, error)
        if all(self._whole.partitions.numbered(other).unusable is not None for other in self._served):
            raise error
        self._waiting_for[number] = str(error)
        with suppress(StepwardError):
            await self._started.pop(number).stop()
        await asyncio.sleep(max(self._poll, UNUSABLE_SECONDS))

    def _report(self, partition: Partition, error: StoreUnusable) -> None:
        """One line for each reason; the Supervisor of another store raises an alert."""
        if partition.unusable != str(error):
            self._observers.emit("partition.failed", partition=partition.name, error=str(error))
        partition.unusable = str(error)

    async def _begun(self, partition: Partition, begin: BeginPartition) -> Running:
        await partition.open()
        own = self._served[partition.number]
        return await begin(own, place=await place_of(self._whole, partition, own, self.hints))


def _answer(tried: asyncio.Future[StoreError | None], failure: StoreError | None) -> None:
    if not tried.done():
        tried.set_result(failure)


def whole_store(app: str, settings: Settings, environment: Environment) -> PartitionedStore:
    """The store that is made of all stores of the settings, not yet open."""
    codec, keeper = codec_of(app, settings.encryption), keeper_for(app, settings, environment)
    return PartitionedStore(settings.stores, app=app, environment=environment, codec=codec, keeper=keeper)


async def pass_over_each(store: PartitionedStore, settings: Settings, one: PassOver) -> PassReport:
    """One pass of the Supervisor over each partition, added up. Raises StoreError for one that could not be reached or
    used, once the others had theirs."""
    await store.open()
    report = PassReport()
    failure: StoreError | None = None
    try:
        for partition in store.partitions.members:
            own = _settings_of(settings, partition.number)
            try:
                await partition.open()
                report = (await one(own, await place_of(store, partition, own, Hints()))).plus(report)
            except StoreError as error:
                failure = error
    finally:
        await store.close()
    if failure is not None:
        raise failure
    return report


def _settings_of(settings: Settings, number: int) -> Settings:
    """The settings of the actors of one store. It has an archive of its own, as it has a chain of acts of its own."""
    own = {"store": settings.stores[number - 1]}
    if settings.archive is not None:
        folder = Path(settings.archive) / partition_name(number)
        # Without the archive itself there is nothing to write to, as the Supervisor says.
        with suppress(OSError):
            folder.mkdir(0o700, exist_ok=True)
        own["archive"] = str(folder)
    return settings.replaced(own)


def served_partitions(settings: Settings, names: bool | Iterable[str]) -> list[int]:
    """The partitions, counted from 1, whose actors run in a process; True: all. Raises SettingsError."""
    known = {partition_name(number): number for number in range(1, len(settings.stores) + 1)}
    chosen = list(known) if names is True else list(dict.fromkeys(names or ()))
    if names is not True and len(known) == 1:
        raise SettingsError(
            "partition: expected several stores beside it, found one; give every store, or leave it out"
        )
    unknown = [name for name in chosen if name not in known]
    if unknown or not chosen:
        raise SettingsError(
            f"partition: expected some of {', '.join(known)}, found {unknown[0][:60] if unknown else 'none'}; name some"
        )
    return [known[name] for name in chosen]


def refuse_partitions(settings: Settings, what: str) -> None:
    """Raises SettingsError where an application with several stores asks for what is of one."""
    if len(settings.stores) > 1:
        raise SettingsError(f"{what}: expected an application with one store, found {len(settings.stores)}; name one")
