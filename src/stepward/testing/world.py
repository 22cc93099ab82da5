"""A world: a store, a broker and services that stay, and processes that come and go."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextvars import Context
from itertools import count

import apsw

from stepward.agent.declaration import Agent
from stepward.host import Roles
from stepward.settings import Settings
from stepward.testing import faults, workload
from stepward.testing.approvals import Approvers, desk
from stepward.testing.clock import BOOTED_FOR
from stepward.testing.history import Mirror, triggers
from stepward.testing.loop import SimulationLoop
from stepward.testing.messages import Network
from stepward.testing.pipelines import PIPELINES
from stepward.testing.process import Process, Work
from stepward.testing.readers import Readership
from stepward.testing.rules import Rules
from stepward.testing.services import Service
from stepward.testing.trace import Trace
from stepward.transport.contract import Transport
from stepward.transport.memory import MemoryTransport
from stepward.workflow.registry import Registry

DATABASES = count()
LEASES = (2.0, 3.0, 5.0)


class World:
    """Everything that one seed brings about; also what the declarations of the workload see."""

    def __init__(self, seed: int, loop: SimulationLoop, *, plain: bool = False) -> None:
        self.seed = seed
        self.plain = plain
        """Whether there are no pipelines, submissions and response queues."""
        self.loop = loop
        self.chance = random.Random(f"{seed}/world")
        self.trace = Trace(loop.time, loop.break_off)
        self.rates = faults.drawn(random.Random(f"{seed}/faults"))
        self.faulty = False
        """Whether the first phase is on, in which faults strike."""
        self.mirror = Mirror()
        self.rules = Rules(self.mirror, self.trace, self.now)
        self.path = f"file:/simulated-{next(DATABASES)}?vfs=memdb"
        self.settings = self._settings()
        self.registry = Registry(
            [*workload.WORKFLOWS.values(), *PIPELINES.values()],
            [operation for agent in (*workload.AGENTS, desk) for operation in agent.operations.values()],
        )
        self.memory = MemoryTransport(self.now)
        self.hub: Transport = self.memory
        self.network = Network(
            loop, self.rates_now, random.Random(f"{seed}/network"), self.trace, self.rules, self.mirror
        )
        self.services = {name: self._service(name) for name in ("pay", "ship", "mail")}
        self.readership = Readership(
            self.mirror, self.rules.tellings, self.trace, random.Random(f"{seed}/readers"), most=0 if plain else 2
        )
        # A source of its own: the seeds that draw none go on as they always did.
        self.aside = random.Random(f"{seed}/approvals")
        self.has_approvals = not plain and self.aside.random() < 0.4
        """Whether there are steps that people finish."""
        self.agents: Sequence[Agent] = [*workload.AGENTS, *([desk] if self.has_approvals else [])]
        self._approvers = Approvers(self.aside, self.mirror, self.trace)
        self.processes: dict[str, Process] = {}
        self.office = Process(self, "office", None)
        """Where clients and operators sit; it never dies."""
        self._starts: dict[str, int] = {}
        self._edge = random.Random(f"{seed}/edge")
        self._values = 0
        self._inspector: apsw.Connection | None = None
        self._offset = 0.0

    def rates_now(self) -> faults.Rates:
        """How often faults strike at this moment."""
        return self.rates if self.faulty else CALM

    def now(self) -> float:
        """The store's clock."""
        return self.loop.time() + BOOTED_FOR + self._offset

    async def prepare(self) -> None:
        """Make the store, and have every change of it told."""
        await self.office._real.open()
        self._offset = self.office.store.now() - self.loop.time() - BOOTED_FOR
        self.office.started = True
        self._inspector = apsw.Connection(self.path, flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI)
        self._inspector.execute("create table simulated_booking (key text not null) strict")
        self._inspector.execute("create table simulated_order (id text not null primary key) strict")
        self._inspector.execute(triggers())

    def bookings(self) -> list[str]:
        """The rows that transactional steps wrote."""
        rows = self._inspector.execute("select key from simulated_booking") if self._inspector else ()
        return [key for (key,) in rows]

    def start(self, name: str, roles: Roles | None, work: Work | None = None) -> Process:
        """Start a process, for the first time or again."""
        self._starts[name] = self._starts.get(name, 0) + 1
        process = self.processes[name] = Process(self, f"{name}.{self._starts[name]}", roles, work)
        self.trace.note("start", process.name)
        process.start()
        return process

    def died(self, process: Process) -> None:
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

    def handed(self, token: str) -> None:
        """An operation gave out a completion token."""
        self.loop.call_later(self._approvers.delay(faulty=self.faulty), self._decide, token, context=Context())

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

    def _decide(self, token: str) -> None:
        self.office.run(self._approvers.decide(self.office.client, token, faulty=self.faulty))

    def _restart(self, name: str, process: Process) -> None:
        if self.processes.get(name) is process:
            self.start(name, process.roles, process.work)

    def _settings(self) -> Settings:
        chance = self.chance
        return Settings(
            transport="store",
            lease=chance.choice(LEASES),
            supervisor_every=chance.choice([0.5, 1.0]),
            poll=chance.choice([1.0, 2.0]),
            tasks_in_flight=chance.choice([1, 2, 4, 100]),
            tasks_in_memory=chance.choice([1, 100]),
            evict_after=chance.choice([0.0, 1.0, 5.0, None]),
            recovery_limit=chance.choice([3, 100]),
            drain=chance.choice([0.0, 2.0]),
            commit_rows=chance.choice([1, 5000]),
            retention=None,
        )

    def _service(self, name: str) -> Service:
        return Service(
            name,
            dedupes=name != "mail",
            loop=self.loop,
            rates=self.rates_now,
            chance=random.Random(f"{self.seed}/{name}"),
            trace=self.trace,
        )


CALM = faults.Rates()
