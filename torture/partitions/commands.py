"""The commands ``stepward partitions add`` and ``move``, repeated while they are refused."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from torture.partitions.journal import Journal
from torture.partitions.processes import ROOT

WHOLE_SECONDS = 120.0
"""How long a store may take to be added, or a share to be moved, by commands that are not killed."""
TOO_EARLY = frozenset({2, 3})
"""Exit codes of a command that is refused: no Scheduler serves the new store yet, or a store is stopped."""
NOTHING: Mapping[str, str] = {}
AGAIN_SECONDS = 1.0


class PartitionsCommands:
    """Runs the commands, and keeps what they end with that they should not."""

    def __init__(self, journal: Journal) -> None:
        self.broken: list[str] = []
        self.stopping = asyncio.Lock()
        """Held while a store is stopped, and while a command is repeated that was refused."""
        self._journal = journal

    async def until(
        self,
        is_over: Callable[[int], bool],
        act: str,
        stores: Sequence[str],
        variables: Mapping[str, str] = NOTHING,
    ) -> None:
        """Repeat a command that is refused until its code is the awaited one; what else it ends with is a finding.

        No store is stopped meanwhile: on a slow machine none would stand for as long as a command takes.
        """
        said = "nothing"

        async def is_at_end() -> bool:
            nonlocal said
            code, said = await self.run(act, stores, variables)
            if not (ended := is_over(code)) and code not in TOO_EARLY:
                self.broken.append(f"partitions {act}: expected it not to end with {code}, found: {said}")
            return ended or bool(self.broken)

        with suppress(TimeoutError):
            async with asyncio.timeout(WHOLE_SECONDS):
                if await is_at_end():
                    return
                async with self.stopping:
                    while not await is_at_end():  # noqa: ASYNC110  a store that takes commands sets no event of ours
                        await asyncio.sleep(AGAIN_SECONDS)
                return
        self.broken.append(f"partitions {act}: expected it to be over within {WHOLE_SECONDS:g} s, found: {said}")

    async def run(
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
        try:
            await asyncio.wait({saying}, timeout=seconds)
        finally:
            if not saying.done():
                process.kill()
        _, said = await saying
        code, lines = process.returncode or 0, said.decode(errors="replace").strip().splitlines()
        last = lines[-1] if lines else "nothing"
        self._journal.note(f"partitions {' '.join((act, *variables.values()))}: {code}, {last}")
        return code, last
