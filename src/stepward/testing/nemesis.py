"""What goes wrong with whole processes: crashes, pauses, orderly ends, wrong clocks, outages, wiped queues."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

from stepward.testing.faults import HOUR
from stepward.testing.process import Process
from stepward.testing.world import World


class Nemesis:
    """Strikes at random instants while the world is faulty."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._chance = random.Random(f"{world.seed}/nemesis")

    async def run(self, seconds: float) -> None:
        """Strike for so long."""
        rates = self._world.rates
        plagues: list[tuple[float, Callable[[], None]]] = [
            (rates.crash_every, self._crash),
            (rates.pause_every, self._pause),
            (rates.terminate_every, self._terminate),
            (rates.clock_jump_every, self._jump),
            (rates.store_outage_every, self._cut_off),
            (rates.queues_wiped_every, self._wipe),
        ]
        loop = self._world.loop
        for every, strike in plagues:
            at = self._chance.expovariate(1 / every) if every else seconds
            while at < seconds:
                loop.call_later(at, strike)
                at += self._chance.expovariate(1 / every)
        await asyncio.sleep(seconds)

    def heal(self) -> None:
        """End whatever still goes on."""
        for process in self._processes():
            process.lane.parked = False
            process.gate.away = False
        self._world.office.gate.away = False

    def _processes(self) -> list[Process]:
        return [process for process in self._world.processes.values() if not process.dead]

    def _victim(self) -> Process | None:
        able = [process for process in self._processes() if process.started and not process.lane.parked]
        return self._chance.choice(able) if able and self._world.faulty else None

    def _crash(self) -> None:
        victim = self._victim()
        if victim is not None:
            self._world.trace.fault("crash", victim.name)
            self._world.died(victim)

    def _pause(self) -> None:
        victim = self._victim()
        if victim is not None:
            lease = self._world.settings.lease
            seconds = lease * self._chance.choice([0.3, 0.9, 1.5, 3.0, 6.0])
            self._world.trace.fault("pause", victim.name, seconds)
            victim.lane.parked = True
            self._world.loop.call_later(seconds, self._wake, victim)

    def _wake(self, process: Process) -> None:
        if not process.dead:
            self._world.trace.note("goes on", process.name)
            process.lane.parked = False

    def _terminate(self) -> None:
        victim = self._victim()
        if victim is not None:
            self._world.trace.fault("terminate", victim.name)
            victim.stop_orderly(lambda: self._ended(victim))

    def _ended(self, process: Process) -> None:
        if not process.dead:
            self._world.trace.reached("a process ended in good order")
            self._world.died(process)

    def _jump(self) -> None:
        victim = self._victim()
        if victim is not None:
            victim.clock.offset = self._chance.choice([-2 * HOUR, -HOUR, HOUR, 3 * HOUR, 0.0])
            self._world.trace.fault("clock jump", victim.name, victim.clock.offset)

    def _cut_off(self) -> None:
        if not self._world.faulty:
            return
        everyone = self._chance.random() < 0.5
        victims = self._processes()
        chosen = victims if everyone else [self._chance.choice(victims)] if victims else []
        seconds = self._world.settings.lease * self._chance.choice([0.3, 1.0, 2.0])
        self._world.trace.fault("store outage", len(chosen), seconds)
        for process in chosen:
            process.gate.away = True
            self._world.loop.call_later(seconds, self._reconnect, process)

    def _reconnect(self, process: Process) -> None:
        process.gate.away = False

    def _wipe(self) -> None:
        if self._world.faulty:
            self._world.trace.fault("queues wiped")
            for queue in self._world.memory._queues.values():
                queue.empty()
