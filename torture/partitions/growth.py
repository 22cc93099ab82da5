"""Stores that are added while the application runs, and their shares, which a mover that is killed takes there."""

from __future__ import annotations

import asyncio
import os
import random
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress

from stepward.store.partitions.placement import initial_shards
from torture.partitions.processes import ROOT, Workers
from torture.partitions.stores import TortureStores

POINTS = ("shard.leave.before", "shard.commit.before", "shard.leave.after", "shard.arrive.after")
"""Where the mover of each share is killed, each once, in a drawn order."""
KILLED_PART = 4
"""One mover moves at most this part of the share before it is killed at a point."""
KILL_SECONDS = (0.5, 2.5)
"""How long a mover runs that is killed wherever it is."""
WHOLE_SECONDS = 120.0
"""How long a store may take to be added, or a share to be moved, by commands that are not killed."""
KILLED = frozenset({137, -9})
TOO_EARLY = frozenset({2, 3})
"""Exit codes of a command that is refused: no Scheduler serves the new store yet, or a store is stopped."""
NOTHING: Mapping[str, str] = {}
AGAIN_SECONDS = 1.0


class Growth:
    """Adds one store after the other; ``taken_on`` is called with each new list before anything moves."""

    def __init__(
        self,
        stores: TortureStores,
        workers: Workers,
        chance: random.Random,
        taken_on: Callable[[Sequence[str]], Awaitable[None]],
    ) -> None:
        self.shares = 0
        """Shares that have moved whole."""
        self.movers_killed = 0
        self.broken: list[str] = []
        self.layouts = frozenset({len(stores.addresses)})
        """The numbers of partitions by which tasks may be placed now: two of them while a share moves."""
        self._stores = stores
        self._workers = workers
        self._chance = chance
        self._taken_on = taken_on

    async def grow(self) -> None:
        """Add a store and move its share, with kills of the command and of workers between."""
        await self._stores.make()
        stores, count = tuple(self._stores.addresses), len(self._stores.addresses)
        async with self._workers.deploying:
            await self._command("add", stores, seconds=self._chance.uniform(*KILL_SECONDS))
            await self._until(self._is_done, "add", stores)
            if not self.broken:
                await self._workers.deploy(stores)
        if self.broken:
            return
        await self._taken_on(stores)
        self.layouts = frozenset({count - 1, count})
        most = len(initial_shards(count)[-1]) // (KILLED_PART * len(POINTS))
        for point in self._chance.sample(POINTS, len(POINTS)):
            failpoint = f"{point}:{self._chance.randint(1, most)}"
            await self._until(self._is_killed, "move", stores, {"STEPWARD_FAILPOINT": failpoint})
            await self._workers.kill()
        await self._command("move", stores, seconds=self._chance.uniform(*KILL_SECONDS))
        await self._until(self._is_done, "move", stores)
        if not self.broken:
            self.shares += 1
            self.layouts = frozenset({count})

    def _is_done(self, code: int) -> bool:
        return code == 0

    def _is_killed(self, code: int) -> bool:
        """Whether the mover came as far as its failpoint."""
        self.movers_killed += code in KILLED
        return code in KILLED

    async def _until(
        self,
        is_over: Callable[[int], bool],
        act: str,
        stores: Sequence[str],
        variables: Mapping[str, str] = NOTHING,
    ) -> None:
        """Repeat a command that is refused until its code is the awaited one; what else it ends with is a finding."""
        said = "nothing"
        with suppress(TimeoutError):
            async with asyncio.timeout(WHOLE_SECONDS):
                while not self.broken:
                    code, said = await self._command(act, stores, variables)
                    if is_over(code):
                        return
                    if code not in TOO_EARLY:
                        self.broken.append(f"partitions {act}: expected it not to end with {code}, found: {said}")
                    await asyncio.sleep(AGAIN_SECONDS)
        if not self.broken:
            self.broken.append(f"partitions {act}: expected it to be over within {WHOLE_SECONDS:g} s, found: {said}")

    async def _command(
        self,
        act: str,
        stores: Sequence[str],
        variables: Mapping[str, str] = NOTHING,
        *,
        seconds: float | None = None,
    ) -> tuple[int, str]:
        """The exit code of ``stepward partitions``, killed after some seconds if given, and its last line."""
        pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "stepward", "partitions", act),
            cwd=ROOT,
            stdout=nothing,
            stderr=pipe,
            env={**os.environ, "STEPWARD_STORE": " ".join(stores), **variables},
        )
        saying = asyncio.create_task(process.communicate())
        await asyncio.wait({saying}, timeout=seconds)
        if not saying.done():
            process.kill()
            self.movers_killed += act == "move"
        _, said = await saying
        lines = said.decode(errors="replace").strip().splitlines()
        return process.returncode or 0, lines[-1] if lines else "nothing"
