"""Clients that send signals to one task as fast as they can, from every process at once."""

from __future__ import annotations

import asyncio
import random

from simulation.application.workload import SIGNALS
from simulation.environment.process import SimulatedProcess
from simulation.environment.world import World
from stepward.client import session_of
from stepward.errors import Refused, StoreError

SIZES = (10, 30, 60)
"""Signals that one process sends in one flood."""
PAUSES = (0.0, 0.0, 0.0, 0.001, 0.02)
FIRST = 1_000_000
"""The least payload of these signals, so that they can be distinguished from those of operators."""


class Flood:
    """Strikes at random instants while the world is faulty."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._chance = random.Random(f"{world.seed}/floods")
        self._number = FIRST

    def come(self, seconds: float) -> None:
        """Plan the floods of so many seconds."""
        every = self._world.rates.flood_every
        at = self._chance.expovariate(1 / every) if every else seconds
        while at < seconds:
            self._world.loop.call_later(at, self._strike)
            at += self._chance.expovariate(1 / every)

    def _strike(self) -> None:
        rows = [task for task in self._world.mirror.tasks.values() if task.parent is None]
        if not rows or not self._world.faulty:
            return
        task, name, size = self._chance.choice(rows), self._chance.choice(SIGNALS), self._chance.choice(SIZES)
        self._world.trace.fault("flood of signals", task.id, name, size)
        able = [process for process in self._world.processes.values() if process.started and not process.dead]
        for process in able or [self._world.office]:
            process.run(self._pour(process, task.id, name, size))

    async def _pour(self, process: SimulatedProcess, id: str, name: str, size: int) -> None:
        for _ in range(size):
            self._number += 1
            try:
                await session_of(process.client).signal(id, name, b"%d" % self._number, None)
            except StoreError:
                continue
            except Refused:
                return  # It has ended.
            await asyncio.sleep(self._chance.choice(PAUSES))
