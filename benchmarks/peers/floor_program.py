"""The raw limit at the work of the comparison: a hand-written loop that writes the rows which Stepward writes."""

from __future__ import annotations

import time
from contextlib import AsyncExitStack

from benchmarks.floor import floor
from benchmarks.floor.loop import STEPS
from benchmarks.peers.contract import Answer, TimedProgram, percentiles, run

BATCHES = 4
"""Batches whose rows are made before a piece of the time is measured."""


class FloorProgram(TimedProgram):
    """Batches as large as the tasks in flight."""

    async def start(self) -> None:
        """Open the store."""
        self._stack = AsyncExitStack()
        self._raw = await self._stack.enter_async_context(floor(self.address))

    async def stop(self) -> None:
        """Close it."""
        await self._stack.aclose()

    async def ten_for(self, seconds: float, in_flight: int) -> Answer:
        """Write batches for about that time; making their rows is not counted."""
        end = time.perf_counter() + seconds
        done, took = 0, 0.0
        while time.perf_counter() < end:
            tasks = BATCHES * in_flight
            took += tasks * STEPS / await self._raw.ten_step_tasks(tasks, in_flight)
            done += tasks
        return {"tasks": done, "seconds": took}

    async def alone_for(self, seconds: float) -> Answer:
        """Write the eleven commits of one task at a time."""
        end = time.perf_counter() + seconds
        took = list[float]()
        while not took or time.perf_counter() < end:
            took.append(await self._raw.one_task(1))
        return percentiles(took)


if __name__ == "__main__":
    run(FloorProgram)
