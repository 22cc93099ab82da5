"""Faults of whole processes: crashes, pauses, orderly ends, wrong clocks, outages, wiped queues."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

from simulation.application.deployments import DEPLOYMENTS, FLAGS
from simulation.application.services import SimulatedService
from simulation.environment.faults import HOUR
from simulation.environment.process import SimulatedProcess
from simulation.environment.world import World
from simulation.trace import FLAG_TURNED

AWAY_SECONDS = (3.0, 8.0, 15.0)
REPLACE_LOOK = 0.5


class Nemesis:
    """Strikes at random instants while the world is faulty."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._chance = random.Random(f"{world.seed}/nemesis")
        self._edge_chance = random.Random(f"{world.seed}/nemesis/edge")
        self._deploy_chance = random.Random(f"{world.seed}/nemesis/deploys")
        self._service_chance = random.Random(f"{world.seed}/nemesis/services")

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
        at_the_edge: list[tuple[float, Callable[[], None]]] = [
            (rates.crash_every, lambda: self._end(self._victim(at_the_edge=True))),
            (rates.pause_every, lambda: self._stop(self._victim(at_the_edge=True), self._edge_chance)),
            (rates.terminate_every, lambda: self._drain(self._victim(at_the_edge=True))),
        ]
        self._plan(plagues, seconds, self._chance)
        self._plan(at_the_edge, seconds, self._edge_chance)
        if not self._world.plain:
            self._plan([(rates.service_away_every, self._send_away)], seconds, self._service_chance)
        deploys = [(rates.deploy_every, self._deploy), (rates.flag_every, self._turn_flag)]
        self._plan(deploys, seconds, self._deploy_chance)
        await asyncio.sleep(seconds)

    def heal(self) -> None:
        """End whatever still goes on."""
        for process in [*self._processes(), *self._processes(at_the_edge=True)]:
            process.lane.parked = False
            process.gate.away = False
        for service in self._world.services.values():
            service.is_away = False
        self._world.office.gate.away = False
        self._world.flags.clear()
        self._world.deployed.clear()
        for process in [each for each in self._processes() if each.deployment]:
            self._replace(process)

    def _replace(self, process: SimulatedProcess) -> None:
        """End a process of wrong code, as soon as it does not stand still: the next one has the right code."""
        if process.lane.stalled:
            self._world.loop.call_later(REPLACE_LOOK, self._replace, process)
        elif not process.dead:
            self._world.died(process)

    def _plan(self, plagues: list[tuple[float, Callable[[], None]]], seconds: float, chance: random.Random) -> None:
        for every, strike in plagues:
            at = chance.expovariate(1 / every) if every else seconds
            while at < seconds:
                self._world.loop.call_later(at, strike)
                at += chance.expovariate(1 / every)

    def _processes(self, *, at_the_edge: bool = False) -> list[SimulatedProcess]:
        found = [process for process in self._world.processes.values() if not process.dead]
        return [process for process in found if process.is_at_the_edge is at_the_edge]

    def _victim(self, *, at_the_edge: bool = False) -> SimulatedProcess | None:
        processes = self._processes(at_the_edge=at_the_edge)
        able = [process for process in processes if process.started and not process.lane.parked]
        chance = self._edge_chance if at_the_edge else self._chance
        return chance.choice(able) if able and self._world.faulty else None

    def _crash(self) -> None:
        self._end(self._victim())

    def _end(self, victim: SimulatedProcess | None) -> None:
        if victim is not None:
            self._world.trace.fault("crash", victim.name)
            self._world.died(victim)

    def _pause(self) -> None:
        self._stop(self._victim(), self._chance)

    def _stop(self, victim: SimulatedProcess | None, chance: random.Random) -> None:
        if victim is not None:
            seconds = self._world.settings.lease * chance.choice([0.3, 0.9, 1.5, 3.0, 6.0])
            self._world.trace.fault("pause", victim.name, seconds)
            victim.lane.parked = True
            self._world.loop.call_later(seconds, self._wake, victim)

    def _wake(self, process: SimulatedProcess) -> None:
        if not process.dead:
            self._world.trace.note("goes on", process.name)
            process.lane.parked = False

    def _terminate(self) -> None:
        self._drain(self._victim())

    def _drain(self, victim: SimulatedProcess | None) -> None:
        if victim is not None:
            self._world.trace.fault("terminate", victim.name)
            victim.stop_orderly(lambda: self._ended(victim))

    def _ended(self, process: SimulatedProcess) -> None:
        if not process.dead:
            self._world.trace.reached("a process ended in good order")
            self._world.died(process)

    def _deploy(self) -> None:
        chance, processes = self._deploy_chance, self._processes()
        able = [process for process in processes if process.started and not process.lane.parked]
        if able and self._world.faulty:
            victim, deployment = chance.choice(able), chance.randrange(len(DEPLOYMENTS)) * chance.choice([0, 1, 1])
            self._world.deployed[victim.name.partition(".")[0]] = deployment
            self._world.trace.fault("wrong deploy" if deployment else "right deploy", victim.name, deployment)
            victim.stop_orderly(lambda: self._ended(victim))

    def _turn_flag(self) -> None:
        if self._world.faulty:
            flag = self._deploy_chance.choice(FLAGS)
            self._world.flags[flag] = not self._world.flags.get(flag, True)
            self._world.trace.fault(FLAG_TURNED, flag, self._world.flags[flag])

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
        if everyone or self._edge_chance.random() < 0.5:
            chosen = [*chosen, *self._processes(at_the_edge=True)]
        seconds = self._world.settings.lease * self._chance.choice([0.3, 1.0, 2.0])
        self._world.trace.fault("store outage", len(chosen), seconds)
        for process in chosen:
            process.gate.away = True
            self._world.loop.call_later(seconds, self._reconnect, process)

    def _reconnect(self, process: SimulatedProcess) -> None:
        process.gate.away = False

    def _send_away(self) -> None:
        if self._world.faulty:
            service = self._service_chance.choice(list(self._world.services.values()))
            self._world.trace.fault("service away", service.name)
            service.is_away = True
            self._world.loop.call_later(self._service_chance.choice(AWAY_SECONDS), self._come_back, service)

    def _come_back(self, service: SimulatedService) -> None:
        service.is_away = False

    def _wipe(self) -> None:
        if self._world.faulty:
            self._world.trace.fault("queues wiped")
            for queue in self._world.memory.queues.values():
                queue.empty()
