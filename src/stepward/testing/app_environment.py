"""An application under test: its real actors on an in-memory store and a virtual clock, with the faults of the test."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from contextvars import Context
from datetime import UTC, datetime
from itertools import count
from typing import Any

import apsw

from stepward.app import App
from stepward.client import Client, ClientSession, TaskHandle, client_on
from stepward.clock import Environment
from stepward.durations import Duration, seconds
from stepward.errors import DeclarationError, NothingDue
from stepward.events import Hints
from stepward.model.records import Alert
from stepward.model.states import StepKind, StepState
from stepward.store.named_queries import load_queries
from stepward.store.sqlite import SqliteStore
from stepward.testing import new_store
from stepward.testing.fakes import FakedAgents, OperationCall, is_local
from stepward.testing.planned_faults import Chances, PlannedFaults
from stepward.testing.virtual_process import LEASE, PROCESS, Died, VirtualProcess, tracking
from stepward.testing.virtual_time import VirtualClock, VirtualTime

DATABASES = count()
CRASH_WAIT = 365 * 86_400.0
"""Virtual seconds within which ``crash(at=…)`` expects the process to pass the failpoint."""
INSPECTING = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
MOST_TIMES = 1_000_000
MOST_HINTS = 1_000
"""Most change hints without any time passing; after them virtual time goes on."""


@asynccontextmanager
async def environment(
    app: App, *, fakes: Mapping[Any, Any] | None = None, seed: int = 0
) -> AsyncIterator[AppEnvironment]:
    """Run every actor of ``app`` on an in-memory store and a virtual clock until the block ends.

    ``fakes`` are called in place of operations, undos or local steps: ``{charge: fake_charge, refund: fake_refund}``;
    the fake of a transactional step gets the connection first. While nothing is left to do, the clock leaps to what is
    due next: a week's sleep takes a millisecond. Every timer of the event loop goes by it, and ``def`` operations run
    on the loop; a fake does no real input or output. ``seed`` decides all that is drawn. A wait for what never comes
    ends in NothingDue. Raises DeclarationError for a fake of anything but an operation of the application, an undo of
    one, or a local step.
    """
    async with _running(app, fakes or {}, seed, None) as env:
        yield env


@asynccontextmanager
async def _running(
    app: App, fakes: Mapping[Any, Any], seed: int, chances: Chances | None
) -> AsyncIterator[AppEnvironment]:
    loop = asyncio.get_running_loop()
    waiting = asyncio.current_task()
    stuck = asyncio.Event()

    def give_up() -> None:
        stuck.set()
        if waiting is not None:
            waiting.cancel()

    time = VirtualTime(loop, give_up)
    env = AppEnvironment(app, fakes, seed, chances, time)
    try:
        with env._fakes.replacing_steps(), tracking(loop), time.leaping(env._idle):
            await env._start()
            try:
                yield env
            except asyncio.CancelledError:
                if stuck.is_set() and waiting is not None and not waiting.uncancel():
                    raise NothingDue(await env._standstill()) from None
                raise
            finally:
                await env._stop()
    finally:
        env._inspector.close()


class AppEnvironment:
    """The handle of a test on an application that runs in virtual time; ``environment`` makes one."""

    client: Client
    """A client of the application, as in another process."""

    def __init__(
        self, app: App, fakes: Mapping[Any, Any], seed: int, chances: Chances | None, time: VirtualTime
    ) -> None:
        self._app = app
        self._chances = chances
        self._faults = PlannedFaults(chances)
        self._path = f"file:/stepward-environment-{next(DATABASES)}?vfs=memdb"
        self._time = time
        clock = VirtualClock(time.elapsed)
        self._environment = Environment(clock=clock, random=random.Random(seed), failpoint=self._passed)
        self._fakes = FakedAgents(app.agents, fakes, self._faults, clock.wall)
        self._queries = load_queries("stepward.testing", "due.sql")
        self._hints = Hints()
        self._process = self._new_process()
        self._store = SqliteStore(self._path, app=app.name, environment=self._environment)
        self._inspector = apsw.Connection(self._path, flags=INSPECTING)
        new_store.fill(self._inspector, app.name)
        self._seen = -1
        self._hinted_at = -1.0
        self._hinted_instant, self._hints_given = -1.0, 0
        self._crash_at: str | None = None
        self._crashed: asyncio.Future[None] | None = None
        self._restarting: set[asyncio.Task[None]] = set()

    def now(self) -> datetime:
        """The virtual time, in UTC."""
        return datetime.fromtimestamp(self._environment.clock.wall(), UTC)

    async def skip(self, duration: Duration) -> None:
        """Lets that much virtual time pass, with everything that is due in it. Raises DeclarationError."""
        await asyncio.sleep(seconds(duration, "skip()", zero=True))

    def fail(self, operation: object, *, times: int = 1, error: Exception | None = None) -> None:
        """Makes the next calls of an operation or an undo raise ``error`` before they do anything.

        A plain exception, such as the default ConnectionError, is retried as the Agent's ``retry`` says; an
        Unrecoverable is not. Raises DeclarationError.
        """
        default = ConnectionError("a fault of the test: the service did not answer")
        self._faults.fail(self._fakes.named(operation, "fail()"), error or default, _times(times, "fail()"))

    def lose_reply(self, operation: object, *, times: int = 1) -> None:
        """Drops the replies of the next calls of an operation or an undo. Raises DeclarationError.

        The attempt ends at its complete-by; the Supervisor decides what follows.
        """
        name = self._fakes.named(operation, "lose_reply()")
        if is_local(operation):
            raise DeclarationError(
                f"lose_reply(): expected an operation or an undo, found {operation!r}, whose outcome no message "
                "carries; have the process crash instead"
            )
        self._faults.lose_reply(name, _times(times, "lose_reply()"))

    async def crash(self, at: str | None = None) -> None:
        """Kills the process at once, or when it next passes the failpoint ``at``; another process takes over.

        ``at`` is a name of docs/operations.md with ``.before`` or ``.after`` appended: ``turn.finish.after``. Running
        code is cancelled where it waits. Raises DeclarationError if the failpoint is not passed.
        """
        if at is None:
            self._process.die()
            await self._take_over()
            return
        self._crash_at = at
        self._crashed = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(CRASH_WAIT):
                await self._crashed
        except TimeoutError:
            raise DeclarationError(
                f"crash(): expected the failpoint {at!r} to be passed, found that it was not within a virtual year; "
                "name one of docs/operations.md with .before or .after, and start what passes it first"
            ) from None
        finally:
            self._crash_at = None

    def calls(self, operation: object) -> list[OperationCall]:
        """Every call of an operation or an undo so far, oldest first. Raises DeclarationError."""
        return self._fakes.calls(operation)

    async def alerts(self) -> list[Alert]:
        """The open alerts, oldest first."""
        return list(reversed(await self.client.alerts()))

    async def undone(self, task: TaskHandle[Any]) -> list[str]:
        """The operations of a task that were undone, in the order of their undo."""
        steps = [
            step
            for step in await task.steps()
            if step.kind == StepKind.UNDO and step.state is StepState.COMPLETED and step.finished_at is not None
        ]
        return [step.name for step in sorted(steps, key=lambda step: step.finished_at or 0.0)]

    async def _start(self) -> None:
        await self._process.start()
        await self._store.open()
        self._session = ClientSession(
            self._store,
            app=self._app.name,
            registry=self._app.registry,
            environment=self._environment,
            hints=self._hints,
            payload_bytes=self._app.settings.payload_bytes,
            poll=LEASE,
        )
        self.client = client_on(self._session)

    async def _stop(self) -> None:
        if self._chances is not None:
            self._chances.end()
        await asyncio.gather(*self._restarting, return_exceptions=True)
        await self._session.close()
        await self._process.stop()
        await self._process.clear()
        await self._store.close()

    def _new_process(self) -> VirtualProcess:
        return VirtualProcess(self._app, self._path, self._fakes.agents, self._faults, self._environment)

    def _passed(self, name: str) -> None:
        """Handles a passed failpoint, at which the process may die."""
        process = PROCESS.get()
        if process is None or process is not self._process or process.is_dead or not process.is_started:
            return
        asked = name == self._crash_at
        if not asked and not (self._chances is not None and self._chances.crashes()):
            return
        process.die()
        # In a context of its own: it is not to be taken apart with the dead process.
        task = Context().run(asyncio.get_running_loop().create_task, self._take_over())
        self._restarting.add(task)
        task.add_done_callback(self._taken_over)
        raise Died(f"the process died at {name}")

    def _taken_over(self, task: asyncio.Task[None]) -> None:
        """Ends the wait of ``crash``, or raises there the error of the start of the next process."""
        self._restarting.discard(task)
        error = None if task.cancelled() else task.exception()
        if self._crashed is None or self._crashed.done():
            return
        if error is None:
            self._crashed.set_result(None)
        else:
            self._crashed.set_exception(error)

    async def _take_over(self) -> None:
        """Cleans up the dead process, ends its leases, and starts the next process."""
        dead = self._process
        await dead.clear()
        for instance in dead.instances:
            for query in ("lapse", "abdicate"):
                self._inspector.execute(self._queries[query], (self._store.now(), instance))
        self._process = self._new_process()
        await self._process.start()
        self._process.hints.hint()

    def _idle(self) -> float | None:
        """Sends a change hint if actors must see a change; else returns the loop time of what is due next."""
        version = self._inspector.pragma("data_version")
        if version != self._seen and self._may_hint():
            self._seen = version
            self._hint()
            return 0
        now = self._store.now()
        due = self._inspector.execute(self._queries["due"], (now,)).fetchone()
        at: float | None = None if due is None else due[0]
        if at is None:
            return None
        if at <= now:
            if self._hinted_at < now:
                self._hinted_at = now
                self._hint()
                return 0
            return None
        return self._time.now() + at - now

    def _may_hint(self) -> bool:
        """Whether another hint is useful: not while actors only answer hints with changes and no time passes."""
        if self._hinted_instant != self._time.now():
            self._hinted_instant, self._hints_given = self._time.now(), 0
        self._hints_given += 1
        return self._hints_given <= MOST_HINTS

    def _hint(self) -> None:
        self._hints.hint()
        self._process.hints.hint()

    async def _standstill(self) -> str:
        """What every task that has not ended waits for, for the error message."""
        waiting = [
            f"{task.id} ({task.state}{f', waits for {task.waits_for}' if task.waits_for else ''})"
            for task in await self.client.tasks(limit=5)
            if task.finished_at is None
        ]
        return (
            f"environment: expected something to be due, found nothing; tasks that have not ended: "
            f"{'; '.join(waiting) or 'none'}; send the signal that is missing, or give the wait a timeout"
        )


def _times(times: int, what: str) -> int:
    if type(times) is not int or not 1 <= times <= MOST_TIMES:
        raise DeclarationError(f"{what}: expected times from 1 to {MOST_TIMES:,}, found {times!r}")
    return times
