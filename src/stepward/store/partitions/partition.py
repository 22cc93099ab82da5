"""One partition: a store that is opened when it is first reachable, and asked no more for a moment after it failed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from stepward.clock import Environment
from stepward.errors import CommitUnknown, SettingsError, StoreUnavailable, StoreUnusable
from stepward.store.contract import Store
from stepward.store.partitions.placement import Shards, partition_name, read_shards
from stepward.store.store_errors import ShardElsewhere

T = TypeVar("T")

REST_SECONDS = 1.0
MOST_REST_SECONDS = 5.0
"""Seconds for which a store that could not be reached is not asked again; they double with each failure."""
READ_SECONDS = 5.0
"""Seconds within which a store must answer a read that asks every store."""

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
        self, number: int, store: Store, environment: Environment, admit: Callable[[Partition], Awaitable[Shards]]
    ) -> None:
        self.name = partition_name(number)
        self.number = number
        self.store = store
        """The store itself, which may not be open."""
        self.shards: Shards = frozenset()
        """The shards that it holds; empty until it is opened."""
        self.count = 0
        """How many stores its record said that the application has, when it was looked at last."""
        self.failed: StoreUnavailable | None = None
        """The failure of the latest verb; None where it was carried out."""
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

    async def connect(self) -> None:
        """Connect, without a check of its place. Raises StoreUnavailable, StoreUnusable."""
        await self.ask(lambda store: store.open(), connects=True)
        self._is_connected = True

    def accept(self, shards: Shards) -> None:
        """The store is in its place, and may be used."""
        self.shards = shards
        self._is_open = True

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
                self.fail(str(error))
                raise self.failed or error from error
            finally:
                if not self._is_open:
                    await self.close()

    async def look(self, seconds: float) -> None:
        """Read again which shards it holds. Raises StoreUnavailable."""
        async with asyncio.timeout(seconds):
            record = await self.ask(lambda store: store.host.partition())
        if record is not None:
            self.shards, self.count = read_shards(record.shards), record.count

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
        except StoreUnavailable as error:
            self.fail(f"{error}")
            raise self.failed or error from error
        self.failed, self._rest = None, REST_SECONDS
        return found

    async def read(self, verb: Callable[[Store], Awaitable[T]]) -> T:
        """The same, within a bounded time."""
        try:
            async with asyncio.timeout(READ_SECONDS):
                return await self.ask(verb)
        except TimeoutError:
            self.fail(f"expected an answer within {READ_SECONDS:.0f} s, found none; look at the store")
            raise self.failed or StoreUnavailable(self.name) from None

    def fail(self, why: str) -> None:
        """Note a failure, and ask the store no more for a moment."""
        self.failed = StoreUnavailable(f"partition {self.name}: {why}")
        self._rests_until = self.clock.boot() + self._rest
        self._rest = min(2 * self._rest, MOST_REST_SECONDS)
