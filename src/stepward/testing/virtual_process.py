"""A process of an environment: every actor of the application, until the test stops or kills it."""

from __future__ import annotations

import asyncio
import copy
import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, cast

from stepward.agent.declaration import Agent
from stepward.app import App
from stepward.client import Endings
from stepward.clock import Environment
from stepward.errors import StoreUnavailable
from stepward.events import Hints, Observers
from stepward.host import Host, Parts, Roles
from stepward.settings import Settings
from stepward.store.contract import Store
from stepward.store.sqlite import SqliteStore
from stepward.testing.planned_faults import FaultyMemoryTransport, PlannedFaults
from stepward.transport.store.store_queues import StoreQueues

LEASE = 30 * 86_400.0
"""Seconds of a lease: with a short lease, renewals of an idle process would fill virtual time."""
CANCEL_ROUNDS = 100
"""Rounds of the event loop after which a coroutine that swallows its cancellation is abandoned."""
CANCEL_EVERY = 20
"""Rounds between two cancellations: one that came sooner would cut off the code that closes workflows."""

WARNINGS = (
    "warn_task_at",
    "warn_lease_at",
    "warn_queue_age",
    "warn_schedule_late",
    "warn_disk_free",
    "warn_standby_behind",
)
"""The settings of early warnings."""

PROCESS: ContextVar[VirtualProcess | None] = ContextVar("stepward_virtual_process", default=None)
"""The process that the running code belongs to; None for the test itself."""


class Died(asyncio.CancelledError):
    """Unwinds the code at which its process died."""


class VirtualProcess:
    """One process from start to death; the next process is another object."""

    def __init__(
        self, app: App, path: str, agents: Sequence[Agent], faults: PlannedFaults, environment: Environment
    ) -> None:
        self._app = app
        self._agents = agents
        self._faults = faults
        self._environment = environment
        self._real = SqliteStore(path, app=app.name, environment=environment)
        self.tasks: set[asyncio.Task[Any]] = set()
        self.is_started = self.is_dead = False
        self.hints = Hints()
        self.instances: list[str] = []
        """The ids of its instances, known once it is dead."""
        self._host: Host | None = None
        self._unwinding: asyncio.Task[Any] | None = None
        """The task that passed the failpoint, which ``Died`` ends as a cancellation would."""

    async def start(self) -> None:
        """Opens the store and runs every actor."""
        token = PROCESS.set(self)
        try:
            await self._real.open()
            self._host = Host(self._parts(), Roles())
            await self._host.start()
            self.is_started = True
        finally:
            PROCESS.reset(token)

    async def stop(self) -> None:
        """Ends every actor in good order."""
        if self._host is not None and not self.is_dead:
            await self._host.stop()
        await self._real.close()

    def die(self) -> None:
        """Cuts this process off from the store and the queues from now on."""
        self.is_dead = True
        self._unwinding = asyncio.current_task()
        self.instances = list(self._host._leases.instances) if self._host is not None else []
        self._real._database.close()

    async def clear(self) -> None:
        """Cancels what still runs of a process that died."""
        for number in range(CANCEL_ROUNDS):
            left = [task for task in self.tasks if not task.done()]
            if not left:
                break
            for task in left if number % CANCEL_EVERY == 0 else ():
                if number or task is not self._unwinding:
                    task.cancel()
            await asyncio.sleep(0)
        for task in self.tasks:
            if task.done() and not task.cancelled():
                task.exception()
        self.tasks.clear()

    def _parts(self) -> Parts:
        store = cast("Store", MortalStore(self._real, self))
        queues = StoreQueues(store.messages, poll=LEASE)
        self.hints.receive(queues.wake)
        return Parts(
            app=self._app.name,
            registry=self._app.registry,
            agents=self._agents,
            submissions=self._app.submissions,
            schedules=self._app.schedules,
            queues=queues,
            settings=_unhurried(self._app.settings),
            environment=self._environment,
            observers=Observers(),
            store=store,
            transport=FaultyMemoryTransport(store.now, self._faults),
            hints=self.hints,
            endings=Endings(),
            sinks=[],
            failures=self._app._failures,
            threads=False,
        )


class MortalStore:
    """A proxy of the store that becomes unavailable when its process dies."""

    def __init__(self, store: SqliteStore, process: VirtualProcess) -> None:
        self.now = store.now
        self.open = store.open
        self.close = store.close
        for part in ("scheduler", "supervisor", "client", "operators", "host", "messages"):
            setattr(self, part, MortalPart(getattr(store, part), process))


class MortalPart:
    """A proxy of one part of the store."""

    def __init__(self, target: Any, process: VirtualProcess) -> None:
        self._target = target
        self._process = process

    def __getattr__(self, verb: str) -> Any:
        real = getattr(self._target, verb)
        if verb == "stirred":
            return _wait_forever
        if verb == "changed":
            return lambda: not self._process.is_dead and real()
        if not inspect.iscoroutinefunction(real):
            return real

        async def reached(*args: Any, **kwargs: Any) -> Any:
            if self._process.is_dead:
                raise StoreUnavailable(f"store: expected a live process, found one that died; {verb} is not done")
            return await real(*args, **kwargs)

        return reached


@contextmanager
def tracking(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Records the asyncio tasks that each process starts, so that they can be cancelled with it."""
    before = loop.get_task_factory()

    def start(on: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
        task = asyncio.Task(coroutine, loop=on, **options) if before is None else before(on, coroutine, **options)
        process = PROCESS.get()
        if process is not None:
            process.tasks.add(cast("asyncio.Task[Any]", task))
            task.add_done_callback(process.tasks.discard)
        return cast("asyncio.Task[Any]", task)

    loop.set_task_factory(start)
    try:
        yield
    finally:
        loop.set_task_factory(before)


def _unhurried(settings: Settings) -> Settings:
    """The application's settings with longer intervals of idle work, whose bounds are meant for real time."""
    changed = copy.copy(settings)
    for name in ("lease", "poll", "supervisor_every"):
        object.__setattr__(changed, name, LEASE)
    object.__setattr__(changed, "drain", 0.0)
    # A test that lets days pass is no operation: early warnings would be among the alerts that it compares.
    for name in WARNINGS:
        object.__setattr__(changed, name, None)
    return changed


async def _wait_forever(_every: float) -> None:
    """Waits forever instead of for changes: the environment reports each change itself."""
    await asyncio.get_running_loop().create_future()
