"""What the Scheduler's tests hold in their hands: applications on one file, and a remote service that obeys."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from stepward import Agent, App, Client, Retry, TaskHandle, Unrecoverable, current_step
from stepward.clock import Environment
from stepward.errors import StepwardError
from stepward.events import Event
from stepward.model.records import Alert
from stepward.model.states import TaskState
from stepward.running import Running

T = TypeVar("T")
Act = Callable[[], Awaitable[Any]]


class VirtualClock:
    """The clock of the test's loop, as if the host had started in 1970."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    def wall(self) -> float:
        return self._loop.time()

    def boot(self) -> float:
        return self._loop.time()

    def boot_id(self) -> str:
        return "one-start"


class World:
    """Applications on one store file; everything that runs is ended with the test."""

    def __init__(self, folder: Path) -> None:
        self.store = f"sqlite:///{folder / 'tasks.db'}"
        self.events: list[Event] = []
        self._stack = AsyncExitStack()
        self._seed = 0

    def app(self, workflows: Iterable[Any], agents: Iterable[Agent] = (), **settings: Any) -> App:
        """An application that is not running yet."""
        self._seed += 1
        app = App(
            "shop",
            workflows=workflows,
            agents=agents,
            store=self.store,
            environment=Environment(VirtualClock(), random.Random(self._seed)),
            **settings,
        )
        app.observers.add(self.events.append)
        return app

    async def run(self, app: App, **roles: Any) -> Running:
        """Run the application until the test's end."""
        return await self._stack.enter_async_context(app.running(**roles))

    async def client(self, app: App) -> Client:
        """A client of the application until the test's end."""
        return await self._stack.enter_async_context(app.client())

    async def start(self, workflows: Iterable[Any], agents: Iterable[Agent] = (), **settings: Any) -> Client:
        """Run an application and give its client."""
        app = self.app(workflows, agents, **settings)
        await self.run(app)
        return await self.client(app)

    async def close(self) -> None:
        await self._stack.aclose()

    def told(self, name: str) -> list[dict[str, Any]]:
        return [event.fields for event in self.events if event.name == name]


class Service:
    """A remote service with its Agent; each call does what was planned for it, or simply its work.

    ``log`` tells what took effect, in order: ``do a``, ``undo a``.
    """

    def __init__(self, name: str = "svc", **options: Any) -> None:
        self.agent = Agent(name, **{"retry": Retry(attempts=1), **options})
        self.log: list[str] = []
        self.keys: list[tuple[str, str]] = []
        self.given: list[Any] = []
        """The result that each undo received."""
        self._plans: dict[str, list[Act]] = {}

        @self.agent.operation(complete_by="10s")
        async def do(what: str) -> str:
            return await self._act("do", what)

        @do.undo
        async def undo_do(result: str | None, what: str) -> None:
            self.given.append(result)
            await self._act("undo", what)

        @self.agent.operation(complete_by="10s")
        async def note(what: str) -> str:
            return await self._act("note", what)

        @self.agent.operation(complete_by="10s", irreversible=True)
        async def seal(what: str) -> str:
            return await self._act("seal", what)

        self.do, self.note, self.seal = do, note, seal

    def plan(self, call: str, *acts: Act) -> None:
        """What the next calls of that name (``do a``, ``undo a``) do, one act each."""
        self._plans.setdefault(call, []).extend(acts)

    async def _act(self, verb: str, what: str) -> str:
        call = f"{verb} {what}"
        self.keys.append((call, current_step().idempotency_key))
        acts = self._plans.get(call)
        if acts:
            await acts.pop(0)()
        self.log.append(call)
        return f"{what} done"

    def keys_of(self, call: str) -> list[str]:
        return [key for name, key in self.keys if name == call]


def refuse(message: str = "refused", **data: Any) -> Act:
    async def act() -> None:
        raise Unrecoverable(message, **data)

    return act


def fault(message: str = "no answer") -> Act:
    async def act() -> None:
        raise StepwardError(message)

    return act


def hang() -> Act:
    async def act() -> None:
        await asyncio.get_running_loop().create_future()

    return act


def take(seconds: float) -> Act:
    async def act() -> None:
        await asyncio.sleep(seconds)

    return act


def until_set(event: asyncio.Event) -> Act:
    async def act() -> None:
        await event.wait()

    return act


async def until(look: Callable[[], Awaitable[T]], *, within: float = 300.0) -> T:
    """What ``look`` gives once it is true; virtual time passes between looks."""
    async with asyncio.timeout(within):
        while not (found := await look()):  # noqa: ASYNC110  its cause sets no event of ours
            await asyncio.sleep(0.01)
    return found


async def in_state(handle: TaskHandle, *states: TaskState, within: float = 300.0) -> TaskState:
    """Wait until the task stands in one of those states."""

    async def look() -> TaskState | None:
        state = (await handle.status()).state
        return state if state in states else None

    found = await until(look, within=within)
    assert found is not None
    return found


async def states(handle: TaskHandle) -> dict[str, str]:
    """The state of each step by its key."""
    return {step.key: step.state.value for step in await handle.steps()}


def details(alert: Alert) -> dict[str, Any]:
    value: dict[str, Any] = msgspec.json.decode(alert.details)
    return value
