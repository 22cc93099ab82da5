"""Processes that live together: started in waves, watched as one, ended in the reverse order."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

from servers.keeper.process import Process, ProcessDied


class Group:
    """Give its `lose` to the upkeep of its processes, and `watch` it; none of them is left after `stop`."""

    def __init__(self) -> None:
        self._waves: list[tuple[Process, ...]] = []
        self._lost: asyncio.Future[ProcessDied] = asyncio.get_running_loop().create_future()

    def lose(self, died: ProcessDied) -> None:
        """A process is gone for good."""
        if not self._lost.done():
            self._lost.set_result(died)

    async def start(self, *wave: Process) -> None:
        """Start these at once, and return when all are ready; raises ProcessDied when one is not."""
        self._waves.append(wave)
        await asyncio.gather(*(process.start() for process in wave))

    async def watch(self) -> None:
        """Raise ProcessDied when a process is gone for good; never returns."""
        raise await self._lost

    async def stop(self) -> None:
        """End every process, the latest wave first."""
        async with AsyncExitStack() as stack:
            for wave in self._waves:
                stack.push_async_callback(_terminate, wave)


async def _terminate(wave: tuple[Process, ...]) -> None:
    await asyncio.gather(*(process.terminate() for process in wave))
