"""What work costs, counted: calls of Stepward's functions, statements and commits, alike on a busy machine."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import Any, NamedTuple

import pytest

from stepward import Client, Supervision, workflow
from stepward.model.states import TaskState
from stepward.store.sqlite.engine import wake_pipe_folder
from stepward.store.sqlite.engine.connection import Connection
from tests.life.trace import PACKAGE
from tests.scheduler.world import Service, World, in_state, refuse

AT_ONCE = 64
STEPS = 10


class Costs(NamedTuple):
    """What one piece of a work costs."""

    calls: float
    """Calls of functions, and resumptions of coroutines; comprehensions do not count."""
    statements: float
    commits: float


class Meter:
    """Counts what this thread does, on connections that are opened after the meter is made."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._calls: Counter[str] = Counter()
        self._connections: list[Connection] = []
        self._commits = 0
        connect = Connection.__init__

        def opened(connection: Connection, *args: Any, **kwargs: Any) -> None:
            connect(connection, *args, **kwargs)
            connection.raw.set_commit_hook(self._committed)
            self._connections.append(connection)

        monkeypatch.setattr(Connection, "__init__", opened)
        # As for long-lived processes: else the number of listings depends on how fast the machine is.
        monkeypatch.setattr(wake_pipe_folder, "SETTLED_NS", float("-inf"))

    async def of(self, work: Awaitable[object], pieces: int) -> Costs:
        """What each of so many pieces of this work costs."""
        self._calls.clear()
        statements, commits = self._statements, self._commits
        sys.setprofile(self._called)
        try:
            await work
        finally:
            sys.setprofile(None)
        counted = self._calls.total(), self._statements - statements, self._commits - commits
        return Costs(*(count / pieces for count in counted))

    def most(self, pieces: int) -> str:
        """The functions that are called most, each with its calls in a piece."""
        return "\n".join(f"{count / pieces:8.2f} {name}" for name, count in self._calls.most_common(60))

    @property
    def _statements(self) -> int:
        return sum(connection.statements for connection in self._connections)

    def _called(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_name[0] != "<" and code.co_filename.startswith(PACKAGE):
            self._calls[f"{code.co_filename.removeprefix(PACKAGE)}:{code.co_qualname}"] += 1

    def _committed(self) -> bool:
        self._commits += 1
        return False


Work = Callable[[World, Meter], Awaitable[tuple[Costs, int]]]
"""Does work of one kind: what a piece of it costs, and how many pieces it had."""


async def steps_together(world: World, meter: Meter) -> tuple[Costs, int]:
    """Steps of tasks that run at the same time, submissions and ends included."""
    client = await _ten_steps(world)
    pieces = AT_ONCE * STEPS
    return await meter.of(_run(client, AT_ONCE), pieces), pieces


async def steps_alone(world: World, meter: Meter) -> tuple[Costs, int]:
    """Steps of one task that runs alone."""
    client = await _ten_steps(world)
    return await meter.of(_run(client, 1), STEPS), STEPS


async def submissions_together(world: World, meter: Meter) -> tuple[Costs, int]:
    """Submissions by ``submit_many`` of a client in a process without a Scheduler."""
    client = await world.client(world.app([ten]))
    await client.submit_many(ten, [("before",)])
    return await meter.of(client.submit_many(ten, [(str(n),) for n in range(1000)]), 1000), 1000


async def submissions_alone(world: World, meter: Meter) -> tuple[Costs, int]:
    """Submissions one after the other by such a client."""
    client = await world.client(world.app([ten]))
    await client.submit(ten, "before")

    async def submit() -> None:
        for n in range(20):
            await client.submit(ten, str(n))

    return await meter.of(submit(), 20), 20


async def undos(world: World, meter: Meter) -> tuple[Costs, int]:
    """Undone steps of tasks that run at the same time: the step, its undo, and its part of submission and end."""
    service = Service()

    @workflow(supervision=Supervision(then="undo"))
    async def fail(order: str) -> None:
        for n in range(STEPS):
            await service.do(str(n))
        await service.note(order)

    async def undone(order: str) -> None:
        await in_state(await client.submit(fail, order), TaskState.UNDONE)

    service.plan("note x", *(refuse() for _ in range(AT_ONCE + 1)))
    app = world.app([fail], [service.agent])
    await world.run(app, supervisor=False)
    client = await world.client(app)
    await undone("x")
    pieces = AT_ONCE * STEPS
    return await meter.of(asyncio.gather(*(undone("x") for _ in range(AT_ONCE))), pieces), pieces


service = Service()


@workflow
async def ten(order: str) -> None:
    """Ten steps in sequence."""
    for n in range(STEPS):
        await service.do(f"{order} {n}")


async def _ten_steps(world: World) -> Client:
    """A client of the application in the process that runs it, when everything has run once."""
    app = world.app([ten], [service.agent])
    await world.run(app, supervisor=False)
    client = await world.client(app)
    await _run(client, 2)
    return client


async def _run(client: Client, tasks: int) -> None:
    await asyncio.gather(*[_one(client, n) for n in range(tasks)])


async def _one(client: Client, n: int) -> None:
    await (await client.submit(ten, str(n))).result()
