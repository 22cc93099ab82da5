"""A simulated process: the real Host with its actors, in a lane that can be stopped, killed or ended in order."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Sequence
from contextvars import Context
from typing import Any, NoReturn, Protocol, cast

from simulation.application.orders import ORDERS
from simulation.environment.clock import SimulatedClock
from simulation.environment.faults import Rates
from simulation.environment.faulty_transport import FaultyTransport
from simulation.environment.loop import LANE, SimulationLoop
from simulation.environment.messages import Network
from simulation.environment.store import CommitGate, FaultyStore
from simulation.trace import STALL, Trace
from stepward.agent.declaration import Agent
from stepward.client import ClientSession, Endings, Queues, client_on
from stepward.clock import Environment
from stepward.errors import StepwardError, StoreError, TransportError
from stepward.events import Event, Hints, Observers
from stepward.host import Host, Parts, Roles
from stepward.settings import Settings
from stepward.store.contract import Store
from stepward.store.sqlite import SqliteStore
from stepward.transport.contract import Transport
from stepward.transport.store.store_queues import StoreQueues
from stepward.transport.store.store_transport import StoreTransport
from stepward.workflow.registry import Registry

APP = "simulated"
BROKE = frozenset({"scheduler.broke", "supervisor.broke", "submission.broke"})
JUDGEMENT = "supervisor.decide.before"
"""Between a Supervisor's look and its decision: replies that were held back cross it there."""
LOCKED = ("store.", "submission.commit.before")
"""Within a transaction: a process that stands still there holds the store's lock, and stops all others too."""

ProcessWork = Callable[["SimulatedProcess"], Coroutine[Any, Any, None]]
"""What a process without actors runs."""


class SimulatedCrash(BaseException):
    """Unwinds whatever runs when its process is killed at a failpoint."""


class Surroundings(Protocol):
    """The world as a process needs it."""

    seed: int
    path: str
    loop: SimulationLoop
    trace: Trace
    settings: Settings
    registry: Registry
    agents: Sequence[Agent]
    hub: Transport | None
    """The broker; None: the queues are in the store."""
    network: Network
    rates: Rates

    deployed: dict[str, int]

    def registry_of(self, deployment: int) -> Registry:
        """What a process of that deployment serves."""
        ...

    def rates_now(self) -> Rates:
        """How often faults strike at this moment."""
        ...

    def died(self, process: SimulatedProcess) -> None:
        """The process is gone."""
        ...


class SimulatedProcess:
    """One start of a process; another start is another object."""

    def __init__(self, world: Surroundings, name: str, roles: Roles | None, work: ProcessWork | None = None) -> None:
        self.name = name
        self.roles = roles
        self.work = work
        self.started = False
        self.dead = False
        self.deployment = world.deployed.get(name.partition(".")[0], 0)
        self.registry = world.registry_of(self.deployment)
        self.lane = world.loop.open_lane(name)
        self.context = Context()
        self.context.run(LANE.set, self.lane)
        self.lane.rate = _rate(world.rates.clock_rate, random.Random(f"{world.seed}/{name}/clock")) if roles else 1.0
        self.clock = SimulatedClock(world.loop.instant, self.lane.rate)
        self._world = world
        self._chance = random.Random(f"{world.seed}/{name}")
        self._strikes = random.Random(f"{world.seed}/{name}/failpoints")
        self._environment = Environment(clock=self.clock, random=self._chance, failpoint=self.failpoint)
        self.gate = CommitGate(world.rates_now, random.Random(f"{world.seed}/{name}/store"), world.trace)
        self._real = SqliteStore(world.path, app=APP, environment=self._environment, busy_seconds=1.0)
        self.store = cast("Store", FaultyStore(self._real, self.gate))
        self._hints = Hints()
        self.transport = FaultyTransport(self._way(), world.network, self.lane, self.context)
        self._endings = Endings()
        self.host: Host | None = None
        session = ClientSession(self.store, app=APP, registry=world.registry, environment=self._environment)
        self.client = client_on(session)
        self.queues = Queues(self.store, app=APP, environment=self._environment)

    def start(self) -> None:
        """Begin to run."""
        self.run(self._main())

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Run something inside this process."""
        task = self._world.loop.create_task(work, context=self.context.copy())
        task.add_done_callback(self._check_end)

    def kill(self) -> None:
        """End at once: nothing of it runs any more, only store and broker stay."""
        if self.dead:
            return
        self.dead = True
        self._world.loop.close_lane(self.lane)
        self._let_go()

    def stop_orderly(self, done: Callable[[], None]) -> None:
        """What SIGTERM does."""
        self.run(self._stop(done))

    @property
    def has_scheduler(self) -> bool:
        """Whether submissions may be born here."""
        return self.started and self.host is not None and self.host.scheduler is not None

    @property
    def instances(self) -> list[str]:
        """The instances that it runs now."""
        return list(self.host._leases.instances) if self.host is not None else []

    @property
    def is_mortal(self) -> bool:
        """Whether it may die, and starts again then."""
        return self.roles is not None or self.work is not None

    @property
    def is_at_the_edge(self) -> bool:
        """Whether it serves applications, and moves no task."""
        return self.roles is None or self.roles.submission

    def failpoint(self, name: str) -> None:
        """A point at which it may stand still, or die."""
        if self.is_mortal and self.started:
            rates = self._world.rates_now()
            self._stall(name, rates.stall_at_judgement if name == JUDGEMENT else rates.stall_at_failpoint)
            self._crash(name, self._world.rates_now().crash_at_failpoint)

    def die(self) -> NoReturn:
        """End at once, in the middle of what runs."""
        self.dead = True
        self.lane.parked = True
        self._world.loop.call_soon(self._fall, context=Context())
        raise SimulatedCrash

    def _way(self) -> Transport:
        """The broker that all share, or the queues in the store as this process reaches them."""
        if self._world.hub is not None:
            return self._world.hub
        transport = StoreTransport(self.store.messages, poll=self._world.settings.poll, hint=None)
        self._hints.receive(transport.wake)
        return transport

    async def _main(self) -> None:
        world = self._world
        try:
            await self._real.open()
            if self.roles is None:
                self.started = True
                if self.work is not None:
                    await self.work(self)
                return
            self.host = Host(self._parts(), self.roles)
            await self.host.start()
            self._open_door()
            self.started = True
            await self.host.wait()
        except (StoreError, TransportError) as error:
            self._failed(error)
        except SimulatedCrash:
            return
        except Exception as error:
            if not self.dead:
                world.trace.violated("bug", f"an actor of {self.name} ended by {type(error).__name__}: {error}")
            raise

    def _check_end(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception) and not self.dead:
            self._world.trace.violated("bug", f"something in {self.name} ended by {type(error).__name__}: {error}")

    def _failed(self, error: StepwardError) -> None:
        if self.started:
            self._world.trace.violated("bug", f"an actor of {self.name} ended by {type(error).__name__}: {error}")
        else:
            self._world.trace.note("start failed", self.name, str(error))
            self._world.loop.call_soon(self._world.died, self, context=Context())

    async def _stop(self, done: Callable[[], None]) -> None:
        if self.host is not None:
            await self.host.stop()
        self._world.loop.call_soon(done, context=Context())

    def _open_door(self) -> None:
        if self.host is not None:
            self.client = client_on(
                ClientSession(
                    self.store,
                    app=APP,
                    registry=self._world.registry,
                    environment=self._environment,
                    hints=self._hints,
                    endings=self._endings,
                    submit_locally=self.host.local_submissions.submit,
                )
            )

    def _parts(self) -> Parts:
        queues = StoreQueues(self.store.messages, poll=self._world.settings.poll)
        self._hints.receive(queues.wake)
        return Parts(
            app=APP,
            submissions=[ORDERS],
            schedules=[],
            queues=queues,
            registry=self.registry,
            agents=self._world.agents,
            settings=self._world.settings,
            environment=self._environment,
            observers=Observers(self._heard),
            store=self.store,
            transport=self.transport,
            hints=self._hints,
            endings=self._endings,
            sinks=[],
            threads=False,
        )

    def _heard(self, event: Event) -> None:
        if self.dead:
            return  # it is only being taken apart
        self._world.trace.note("event", self.name, event.name)
        self._world.trace.reached(event.name)
        if event.name in BROKE:
            self._world.trace.violated("bug", f"an actor of {self.name} ended by {event.fields['error']}")

    def _stall(self, name: str, rate: float) -> None:
        if rate and not name.startswith(LOCKED) and self._strikes.random() < rate:
            seconds = self._world.settings.lease * self._strikes.choice([0.3, 1.5, 3.0])
            self._world.trace.fault(STALL, self.name, name, seconds)
            if name == JUDGEMENT:
                self._world.network.let_go()
            self._world.loop.stall(seconds)
            if self.dead:
                raise SimulatedCrash

    def _crash(self, name: str, rate: float) -> None:
        if rate and self._strikes.random() < rate:
            self._world.trace.fault("crash at a failpoint", self.name, name)
            self.die()

    def _fall(self) -> None:
        self._world.loop.close_lane(self.lane)
        self._let_go()
        self._world.died(self)

    def _let_go(self) -> None:
        scheduler = self.host.scheduler if self.host is not None else None
        for active in list(scheduler._active_tasks.tasks.values()) if scheduler is not None else ():
            if active.execution is not None:
                active.execution.discard()
        for connection in (self._real._database._second, self._real._database.connection):
            if connection is not None:
                connection.rollback()
        self._real._database.close()
        while self.transport._listening:
            self.transport._listening.pop()()


def _rate(most: float, chance: random.Random) -> float:
    return 1.0 + chance.choice([-most, 0.0, most / 2, most])
