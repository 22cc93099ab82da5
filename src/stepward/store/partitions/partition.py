"""One partition: a store that is opened when it is first reachable, and asked no more for a moment after it failed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from stepward.clock import Environment
from stepward.errors import CommitUnknown, SettingsError, StoreError, StoreUnavailable, StoreUnusable
from stepward.runtime.cancelling import retrieve
from stepward.store.contract import Store
from stepward.store.contract.values.partition_record import PartitionRecord
from stepward.store.partitions.placement import Shards, partition_name, read_shards
from stepward.store.store_errors import ShardElsewhere

T = TypeVar("T")

REST_SECONDS = 1.0
MOST_REST_SECONDS = 5.0
"""Seconds for which a store that could not be reached is not asked again; they double with each failure."""
DOWN_SECONDS = 5.0
"""Seconds for which a store must not have answered before it counts as down."""
READ_SECONDS = 5.0
"""Seconds after which a store that has not answered a read is asked whether it answers at all, and within which it must
say so."""
MOST_READ_SECONDS = 60.0
"""Most seconds of a read that asks every store, in a store that answers small reads meanwhile."""
SLOW_SECONDS = 10.0
"""Seconds for which a store whose read was given up is said to be missing; it is asked for other things meanwhile."""
CANCEL_SECONDS = 1.0
"""Seconds for which the end of a read that was given up is waited for."""

ON_ITS_WAY = (
    "store: expected each shard in a store, found one on its way to another; wait for `stepward partitions move`, or "
    "run it again"
)
BEYOND = (
    "store: expected every store of the application in the list, found shards moved to one that is not; start the "
    "process with all of them"
)


class Partition:
    """The store in one place of the list. ``admit`` checks it when it is opened. Verbs raise StoreUnavailable."""

    def __init__(
        self,
        number: int,
        store: Store,
        environment: Environment,
        admit: Callable[[Partition], Awaitable[PartitionRecord]],
    ) -> None:
        self.name = partition_name(number)
        self.number = number
        self.store = store
        """The store itself, which may not be open."""
        self.shards: Shards = frozenset()
        """The shards that it holds; empty until it is opened."""
        self.count = 0
        """How many stores its record said that the application has, when it was looked at last."""
        self.placed_since = 0.0
        """The instant from which each drawn id is placed where its task is; 0.0 until the store is opened."""
        self.failed: StoreUnavailable | None = None
        """The failure of the latest verb; None where it was carried out."""
        self.unusable: str | None = None
        """Why the actors of this process on it ended; None while they run, or where there are none."""
        self._down_since: float | None = None
        self._slow: StoreUnavailable | None = None
        self._slow_until = float("-inf")
        self._admit = admit
        self.clock = environment.clock
        self._is_connected = self._is_open = False
        self._opening = asyncio.Lock()
        self._rests_until = float("-inf")
        self._rest = REST_SECONDS

    @property
    def is_open(self) -> bool:
        """Whether it was reached once, and is not closed."""
        return self._is_open

    def lacks(self, shard: int) -> bool:
        """Whether it is known not to hold a shard that is placed here: the shard is on its way."""
        return self._is_open and shard not in self.shards

    async def connect(self) -> None:
        """Connect, without a check of its place. Raises StoreUnavailable, StoreUnusable."""
        await self.ask(lambda store: store.open(), connects=True)
        self._is_connected = True

    def accept(self, record: PartitionRecord) -> None:
        """The store is in its place, which the record says, and may be used."""
        self.note(record)
        self._is_open = True

    def note(self, record: PartitionRecord) -> None:
        """Remember what the record says."""
        self.shards, self.count = read_shards(record.shards), record.count
        self.placed_since = float("inf") if record.placed_since is None else record.placed_since

    async def open(self) -> None:
        """Connect, and check its place in the list, unless that is done. Raises StoreUnavailable, also for a store that
        does not belong there."""
        async with self._opening:
            if self._is_open:
                return
            try:
                if not self._is_connected:
                    await self.connect()
                self.accept(await self._admit(self))
            except (SettingsError, StoreUnusable) as error:
                raise self.fail(str(error)) from error
            finally:
                if not self._is_open:
                    await self.close()

    async def look(self, seconds: float) -> None:
        """Read again which shards it holds. Raises StoreUnavailable."""
        try:
            async with asyncio.timeout(seconds):
                record = await self.ask(lambda store: store.host.partition())
        except TimeoutError:
            raise self.fail(f"expected an answer within {seconds:g} s, found none; look at the store") from None
        if record is not None:
            self.note(record)

    async def close(self) -> None:
        """Close the store, if it was opened."""
        if self._is_connected:
            self._is_open = self._is_connected = False
            await self.store.close()

    async def ask(self, verb: Callable[[Store], Awaitable[T]], *, connects: bool = False) -> T:
        """The result of a verb. A store that has just failed is not asked."""
        if self.failed is not None and self.clock.boot() < self._rests_until:
            raise StoreUnavailable(str(self.failed))
        if not connects and not self._is_open:
            await self.open()
        try:
            found = await verb(self.store)
        except CommitUnknown as error:
            raise CommitUnknown(f"partition {self.name}: {error}") from error
        except ShardElsewhere:
            raise
        except (StoreUnavailable, StoreUnusable) as error:
            if connects and isinstance(error, StoreUnusable):
                raise
            raise self.fail(str(error)) from error
        self.failed, self._rest, self._down_since = None, REST_SECONDS, None
        return found

    async def read(self, verb: Callable[[Store], Awaitable[T]]) -> T:
        """The same, within a bounded time, which is longer for a store that is slow and not away."""
        reading = asyncio.ensure_future(self.ask(verb))
        reading.add_done_callback(retrieve)
        until = self.clock.boot() + MOST_READ_SECONDS
        try:
            while not (await asyncio.wait({reading}, timeout=READ_SECONDS))[0]:
                await self._check_answering(until)
            return reading.result()
        finally:
            if reading.cancel():
                await asyncio.wait({reading}, timeout=CANCEL_SECONDS)

    async def _check_answering(self, until: float) -> None:
        """Raises StoreUnavailable unless the store answers a small read, and there is time left."""
        if not await self._answers():
            raise self.fail(f"expected an answer within {READ_SECONDS:g} s, found none; look at the store")
        if self.clock.boot() >= until:
            self._slow = StoreUnavailable(
                f"partition {self.name}: expected the answer to a read within {MOST_READ_SECONDS:g} s, found the store "
                "at work on it for longer; ask for less, or look at its load"
            )
            self._slow_until = self.clock.boot() + SLOW_SECONDS
            raise self._slow

    async def _answers(self) -> bool:
        if not self._is_open:
            return False
        try:
            async with asyncio.timeout(READ_SECONDS):
                await self.store.host.partition()
        except (StoreError, TimeoutError):
            return False
        return True

    def fail(self, why: str) -> StoreUnavailable:
        """Note a failure, and ask the store no more for a moment; the failure to raise."""
        self.failed, now = StoreUnavailable(f"partition {self.name}: {why}"), self.clock.boot()
        self._down_since = now if self._down_since is None else self._down_since
        self._rests_until = now + self._rest
        self._rest = min(2 * self._rest, MOST_REST_SECONDS)
        return self.failed

    @property
    def missing(self) -> StoreUnavailable | None:
        """Why what was read last is without this store; None where it is not."""
        return self.failed or (self._slow if self.clock.boot() < self._slow_until else None)

    def why_down(self) -> str | None:
        """Why its tasks stand still, as far as this process sees; None if they go on, or failed a moment ago alone."""
        if self.unusable is not None:
            return self.unusable
        has_lasted = self._down_since is not None and self.clock.boot() - self._down_since >= DOWN_SECONDS
        return str(self.failed).removeprefix(f"partition {self.name}: ") if has_lasted and self.failed else None
