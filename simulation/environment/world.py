"""A world: a store, a broker and services that stay, and processes that come and go."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractContextManager
from contextvars import Context
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

import apsw

from simulation.application import operations
from simulation.application.approvals import Approvers, desk
from simulation.application.registries import served_registry
from simulation.application.services import SimulatedService
from simulation.environment import faults
from simulation.environment.clock import BOOTED_FOR
from simulation.environment.drawn_settings import MANY, drawn_settings
from simulation.environment.faulty_transport import VerbsAlone
from simulation.environment.hangs import Hangs
from simulation.environment.loop import ProcessLane, SimulationLoop
from simulation.environment.messages import Network
from simulation.environment.process import ProcessWork, SimulatedProcess
from simulation.invariants.history import Mirror, triggers
from simulation.invariants.rules import Rules
from simulation.invariants.running_calls import LIMITED, SET, RunningCalls
from simulation.people.event_readers import Readership
from simulation.random_programs.programs import AGENT as LAB
from simulation.random_programs.programs import lab
from simulation.reduction import WHOLE, Cut
from simulation.trace import Trace
from stepward.agent.declaration import Agent
from stepward.host import Roles
from stepward.model.limits.flow_limit import agent_limit
from stepward.transport.contract import Transport
from stepward.transport.memory.memory_transport import MemoryTransport
from stepward.workflow.registry import Registry

DATABASES = count()
PROGRAMS = "program-"
"""How the ids of tasks start whose ends are computed."""
RIGHT = 0
"""The deployment of which all tasks are to end."""
FINAL = ("declined", "declined_after", "undo_refused")
"""Faults of services that decide how a task ends."""


class World:
    """Everything that one seed brings about; also what the declarations of the workload see."""

    people_to_come = 0
    """How many acts of people are still to begin or to end."""
    _values = 0
    _offset = 0.0
    _inspector: apsw.Connection | None = None

    def __init__(
        self,
        seed: int,
        loop: SimulationLoop,
        *,
        plain: bool = False,
        cut: Cut = WHOLE,
        direct: bool = False,
        programs: bool = False,
    ) -> None:
        self.seed = seed
        self.cut = cut
        self.plain = plain
        """Whether there are no pipelines, submissions and response queues."""
        self.loop = loop
        self.chance = random.Random(f"{seed}/world")
        self.trace = Trace(loop.instant, loop.break_off)
        self.rates = self._rates()
        self.faulty = False
        """Whether the first phase is on, in which faults strike."""
        self.mirror = Mirror()
        self.rules = Rules(self.mirror, self.trace, self.now)
        self.path = f"file:/simulated-{next(DATABASES)}?vfs=memdb"
        self.settings = drawn_settings(self.chance)
        if programs:
            self.settings = replace(self.settings, recovery_limit=MANY)
        self.memory = MemoryTransport(self.now) if direct else VerbsAlone(self.now)
        self.hub: Transport | None = None if self.rates.queues_in_store else self.memory
        self.network = Network(
            loop, self.rates_now, random.Random(f"{seed}/network"), self.trace, self.rules, self.mirror
        )
        self.services = {name: self._service(name) for name in ("pay", "ship", "mail")}
        self.lab = self._service(LAB)
        self.readership = Readership(
            self.mirror,
            self.rules.tellings,
            self.trace,
            random.Random(f"{seed}/readers"),
            is_faulty=lambda: self.faulty,
            most=0 if plain else 2,
        )
        # A source of its own: the seeds that draw none go on as they always did.
        self.aside = random.Random(f"{seed}/approvals")
        self.has_approvals = not plain and self.aside.random() < 0.4
        """Whether there are steps that people finish."""
        self.has_programs = programs or (not plain and self._may_have_programs())
        """Whether there are tasks whose ends are computed; one that is parked after few deaths would have another."""
        self.acts: dict[str, int] = {}
        """The numbers of what steps of programs did, by idempotency key."""
        self.agents: Sequence[Agent] = [*operations.AGENTS, *[desk] * self.has_approvals, *[lab] * self.has_programs]
        self.deployed: dict[str, int] = {}
        """By name of a process, the deployment that it runs from its next start on, if not the right one."""
        self.flags: dict[str, bool] = {}
        self.registry = self.registry_of(RIGHT)
        self._approvers = Approvers(self.aside, self.mirror, self.trace)
        self.processes: dict[str, SimulatedProcess] = {}
        self.office = SimulatedProcess(self, "office", None)
        """Where clients and operators sit; it never dies."""
        self._starts: Counter[str] = Counter()
        self._edge = random.Random(f"{seed}/edge")

    def registry_of(self, deployment: int) -> Registry:
        """What a process of that deployment serves."""
        return served_registry(deployment, has_programs=self.has_programs)

    def rates_now(self) -> faults.Rates:
        """How often faults strike at this moment."""
        return self.rates if self.faulty else CALM

    def now(self) -> float:
        """The store's clock."""
        return self.loop.instant() + BOOTED_FOR + self._offset

    async def prepare(self) -> None:
        """Make the store, and record every change of it."""
        self._hangs = Hangs(self.loop, self.trace, self.mirror, self.settings.lease)
        self.calls = RunningCalls(self.seed, self.now, self.trace.violated, self.trace.reached)
        self._interrupting = random.Random(f"{self.seed}/interrupts")
        await self.office._real.open()
        self._offset = self.office.store.now() - self.loop.instant() - BOOTED_FOR
        self.office.started = True
        self._inspector = apsw.Connection(self.path, flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI)
        self._inspector.execute("create table simulated_booking (key text not null) strict")
        self._inspector.execute("create table simulated_order (id text not null primary key) strict")
        if self.calls.limit is not None:
            self._inspector.execute(SET, (agent_limit(LIMITED), self.calls.limit))
        self._inspector.execute(triggers())

    def bookings(self) -> list[str]:
        """The rows that transactional steps wrote."""
        rows = self._inspector.execute("select key from simulated_booking") if self._inspector else ()
        return [key for (key,) in rows]

    def start(self, name: str, roles: Roles | None, work: ProcessWork | None = None) -> SimulatedProcess:
        """Start a process, for the first time or again."""
        self._starts[name] += 1
        process = self.processes[name] = SimulatedProcess(self, f"{name}.{self._starts[name]}", roles, work)
        self.trace.note("start", process.name)
        process.start()
        return process

    def died(self, process: SimulatedProcess) -> None:
        """A process is gone; another start follows after a while."""
        process.kill()
        name = process.name.partition(".")[0]
        self.trace.note("died", process.name)
        if process.is_mortal and self.processes.get(name) is process:
            chance = self._edge if process.is_at_the_edge else self.chance
            delay = chance.choice([0.1, 1.0, 4.0]) if self.faulty else 0.5
            self.loop.call_later(delay, self._restart, name, process)

    def end(self) -> None:
        """Let go of everything."""
        for process in [*self.processes.values(), self.office]:
            process.kill()
        if self._inspector is not None:
            self._inspector.close()

    def called(self, remaining: float, key: str) -> None:
        """An operation was called (S27)."""
        self.trace.note("call", self.loop.current.name, key)
        if remaining <= 0:
            self.trace.violated("S27", f"the call of {key} began past its complete-by")

    def running(self, agent: str, key: str, complete_by: float) -> AbstractContextManager[None]:
        """A call of the process that acts runs for as long as the block."""
        caller = self.processes.get(self.loop.current.name.partition(".")[0])
        return self.calls.running(agent, key, complete_by, caller)

    def acted(self, key: str, number: int) -> None:
        """A step of a program is about to act under that key."""
        self.acts[key] = number

    def interrupts(self) -> bool:
        """Whether the code that asks is to raise what is meant to end a process."""
        rate = self.rates_now().interrupt
        if not rate or self._interrupting.random() >= rate / 3:
            return False
        self.trace.fault("interrupt by an operation")
        return True

    def hangs(self, task: str) -> None:
        """Workflow code never gives the loop back: what watches it counts that, and ends the process."""
        process = self.processes.get(self.loop.current.name.partition(".")[0])
        if process is None or process.dead or process.lane is not self.loop.current:
            return  # A replay beside the processes, or what is left of one.
        self._hangs.hang(task, process, self.office)

    def escaped(self, lane: ProcessLane, error: BaseException) -> None:
        """An exception that is meant to end a process reached its loop."""
        self.trace.violated("S34", f"{type(error).__name__} of the application's code ended {lane.name}")

    def handed(self, token: str) -> None:
        """An operation gave out a completion token."""
        self.plan(self._approvers.delay(faulty=self.faulty), partial(self._decide, token))

    def plan(self, seconds: float, act: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Schedule an act in so many seconds; until it has ended nothing is at rest."""
        self.people_to_come += 1
        self.loop.call_later(seconds, self._begin, act, context=Context())

    def undoes(self, key: str) -> None:
        """An undo was called for what that key did."""
        if key not in self.mirror.keys:
            self.trace.violated("S9", f"an undo was told to take back {key!r}, a key that no step ever had")

    def poisoned(self) -> None:
        """The process that runs now dies of what it does."""
        self.trace.reached("a message ended its process")
        self.processes[self.loop.current.name.partition(".")[0]].die()

    def value(self, task: str) -> int:
        """Something that no replay would give again; only a task's owner may ask."""
        self._values += 1
        row = self.mirror.tasks.get(task)
        if row is not None and row.locked_by is None and row.state != "pending" and self._scheduler_lives():
            self.trace.violated("S3", f"workflow code of {row.id} acted while nobody held the task ({row.state})")
        return self._values

    def _scheduler_lives(self) -> bool:
        """Whether the Scheduler of the process that acts now may still write; one that was fenced may not know yet."""
        process = self.processes.get(self.loop.current.name.partition(".")[0])
        scheduler = process.host.scheduler if process is not None and process.host is not None else None
        instance = self.mirror.instances.get(scheduler.instance) if scheduler is not None else None
        return instance is not None and bool(instance.alive)

    def _may_have_programs(self) -> bool:
        # A source of its own: the seeds that draw none go on as they always did.
        return self.settings.recovery_limit == MANY and random.Random(f"{self.seed}/laboratory").random() < 0.4

    async def _decide(self, token: str) -> None:
        nonsense = self.rates_now().reply_garbled > 0
        await self._approvers.decide(self.office.client, token, faulty=self.faulty, nonsense=nonsense)

    def _begin(self, act: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self.office.run(self._acted(act))

    async def _acted(self, act: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            await act()
        finally:
            self.people_to_come -= 1

    def _restart(self, name: str, process: SimulatedProcess) -> None:
        if self.processes.get(name) is process:
            self.start(name, process.roles, process.work)

    def _rates(self) -> faults.Rates:
        rates = faults.drawn(random.Random(f"{self.seed}/faults"))
        if not self.plain:
            rates = faults.harsh(rates, random.Random(f"{self.seed}/harsh"))
        return faults.without(rates, self.cut.faults)

    def _service(self, name: str) -> SimulatedService:
        return SimulatedService(
            name,
            dedupes=name != "mail",
            loop=self.loop,
            rates=self.rates_now if name != LAB else lambda: faults.without(self.rates_now(), FINAL),
            chance=random.Random(f"{self.seed}/{name}"),
            trace=self.trace,
        )


CALM = faults.Rates()
