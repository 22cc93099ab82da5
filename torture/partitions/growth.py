"""Stores that are added while the application runs, and their shares, which a mover that is killed takes there."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Sequence

from stepward.store.partitions.placement import initial_shards
from torture.partitions.commands import PartitionsCommands
from torture.partitions.processes import Workers
from torture.partitions.stores import TortureStores

POINTS = ("shard.leave.before", "shard.commit.before", "shard.leave.after", "shard.arrive.after")
"""Where the mover of each share is killed, each once, in a drawn order."""
KILLED_PART = 4
"""One mover moves at most this part of the share before it is killed at a point."""
KILL_SECONDS = (0.5, 2.5)
"""How long a mover runs that is killed wherever it is."""
KILLED = frozenset({137, -9})


class Growth:
    """Adds one store after the other; ``taken_on`` is called with each new list before anything moves."""

    def __init__(
        self,
        stores: TortureStores,
        workers: Workers,
        chance: random.Random,
        taken_on: Callable[[Sequence[str]], Awaitable[None]],
        commands: PartitionsCommands,
    ) -> None:
        self.shares = 0
        """Shares that have moved whole."""
        self.movers_killed = 0
        self.layouts = frozenset({len(stores.addresses)})
        """The numbers of partitions by which tasks may be placed now: two of them while a share moves."""
        self._stores = stores
        self._workers = workers
        self._chance = chance
        self._taken_on = taken_on
        self._commands = commands

    async def grow(self) -> None:
        """Add a store and move its share, with kills of the command and of workers between."""
        await self._stores.make()
        stores, count = tuple(self._stores.addresses), len(self._stores.addresses)
        async with self._workers.deploying:
            await self._commands.run("add", stores, seconds=self._chance.uniform(*KILL_SECONDS))
            await self._commands.until(self._is_done, "add", stores)
            if not self._commands.broken:
                await self._workers.deploy(stores)
        if self._commands.broken:
            return
        await self._taken_on(stores)
        self.layouts = frozenset({count - 1, count})
        most = len(initial_shards(count)[-1]) // (KILLED_PART * len(POINTS))
        for point in self._chance.sample(POINTS, len(POINTS)):
            failpoint = f"{point}:{self._chance.randint(1, most)}"
            await self._commands.until(self._is_killed, "move", stores, {"STEPWARD_FAILPOINT": failpoint})
            await self._workers.kill()
        code, _ = await self._commands.run("move", stores, seconds=self._chance.uniform(*KILL_SECONDS))
        self.movers_killed += code in KILLED
        await self._commands.until(self._is_done, "move", stores)
        if not self._commands.broken:
            self.shares += 1
            self.layouts = frozenset({count})

    def _is_done(self, code: int) -> bool:
        return code == 0

    def _is_killed(self, code: int) -> bool:
        """Whether the mover came as far as its failpoint."""
        self.movers_killed += code in KILLED
        return code in KILLED
