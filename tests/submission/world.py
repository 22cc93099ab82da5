"""What the tests of submissions hold in their hands: an orders table, a queue, and ``accept`` that does as planned."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeVar

import apsw

from stepward import Accepted, App, Message, Queues, workflow
from stepward.client import ClientSession, client_on, session_of
from stepward.clock import Environment, no_failpoint
from stepward.events import Event
from stepward.model.messages.requests import submission_queue
from stepward.model.records import DeadLetter
from stepward.model.states import TaskState
from stepward.running import Running
from stepward.store.contract import Transaction
from tests.scheduler.world import VirtualClock

QUEUE = "orders"
STORED = submission_queue("shop", QUEUE)
LEASE = 15.0
ALONE = {"scheduler": False, "agents": False, "supervisor": False}

T = TypeVar("T")
Plan = Callable[[Message, Transaction], Awaitable[Any]]


@workflow()
async def fulfil(what: str) -> str:
    return what


class Desk:
    """The application's ``accept``: inserts an order, then does what is planned for that message, once for each try."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int, float]] = []
        """Id, try and time of every call."""
        self.plans: dict[str, Plan | list[Plan]] = {}
        """The plan for a message: the same at every try, or one for each of the first tries."""
        self._clock = VirtualClock()

    async def accept(self, message: Message, transaction: Transaction) -> Any:
        self.calls.append((message.id, message.tries, self._clock.boot()))
        await transaction.execute("insert into placed values (?)", (message.id,))
        plan = self.plans.get(message.id)
        if isinstance(plan, list):
            plan = plan.pop(0) if plan else None
        return Accepted(fulfil, message.id) if plan is None else await plan(message, transaction)

    @property
    def ids(self) -> list[str]:
        """The ids of the messages that were processed, in order."""
        return [id for id, _, _ in self.calls]

    def tries(self, id: str) -> list[int]:
        return [tries for called, tries, _ in self.calls if called == id]


class World:
    """A shop on one store file, and a client that looks at it; everything that runs is ended with the test."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "tasks.db"
        self.address = f"sqlite:///{self.path}"
        self.desk = Desk()
        self.events: list[Event] = []
        self._seed = 0
        self.client = client_on(ClientSession(self.address, app="shop", environment=self.environment()))
        self.queues = Queues(self.address, app="shop", environment=self.environment())
        self._stack = AsyncExitStack()

    async def open(self) -> None:
        await self._stack.enter_async_context(self.client)
        await self._stack.enter_async_context(self.queues)
        async with self.client.transaction() as transaction:
            await transaction.execute("create table placed (id text unique)")
        self._beside = apsw.Connection(str(self.path))

    async def close(self) -> None:
        self._beside.close()
        await self._stack.aclose()

    def environment(self, failpoint: Callable[[str], None] = no_failpoint) -> Environment:
        self._seed += 1
        return Environment(VirtualClock(), random.Random(self._seed), failpoint)

    def app(self, *, failpoint: Callable[[str], None] = no_failpoint, accept: Any = None, **settings: Any) -> App:
        """A shop that is not running yet; its submission is the desk's unless another is given."""
        app = App(
            "shop",
            workflows=[fulfil],
            store=self.address,
            environment=self.environment(failpoint),
            **settings,
        )
        app.submission(QUEUE, accept=accept or self.desk.accept)
        app.observers.add(self.events.append)
        return app

    async def run(self, app: App | None = None, **roles: Any) -> Running:
        """Run the shop's submission, and what else is asked for, until the test's end."""
        return await self._stack.enter_async_context((app or self.app()).running(**{**ALONE, **roles}))

    async def post(self, *ids: str, **options: Any) -> None:
        for id in ids:
            await self.queues.post(QUEUE, {"what": id}, id=id, **options)

    async def put(self, *bodies: bytes) -> None:
        """Appends a message without ``post``, as any client of the queue can."""
        await session_of(self.client).store.messages.put(STORED, [(body, None) for body in bodies])

    async def emptied(self) -> None:
        """Wait until nothing is left in the queue."""
        await until(self.is_empty)

    async def is_empty(self) -> bool:
        return not self.rows("select 1 from stepward_message where queue = ?", STORED)

    async def buried(self, count: int = 1) -> list[DeadLetter]:
        """Wait for so many dead letters; they come oldest first."""

        async def look() -> list[DeadLetter]:
            found = await self.client.dead_letters()
            return found if len(found) >= count else []

        return (await until(look))[::-1]

    async def tasks(self) -> list[str]:
        """The ids of all tasks."""
        return sorted(status.id for status in await self.client.tasks(limit=10_000))

    def placed(self) -> list[str]:
        return [row[0] for row in self.rows("select id from placed order by rowid")]

    async def both(self) -> list[str]:
        """The orders, which must be those for which there are tasks."""
        placed = self.placed()
        assert sorted(placed) == await self.tasks()
        return placed

    async def both_hold(self, id: str) -> None:
        """Wait until there is a task of that id, and its order."""

        async def look() -> bool:
            return id in await self.both()

        await until(look)

    async def processed(self, id: str) -> None:
        async def look() -> bool:
            return (await self.client.task(id).status()).state is TaskState.PROCESSED

        await until(look)

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Look into the file beside any store."""
        return self._beside.execute(sql, values).fetchall()

    def told(self, name: str) -> list[dict[str, Any]]:
        return [event.fields for event in self.events if event.name == name]


async def until(look: Callable[[], Awaitable[T]], *, within: float = 600.0) -> T:
    """What ``look`` gives once it is true; virtual time passes between looks."""
    async with asyncio.timeout(within):
        while not (found := await look()):  # noqa: ASYNC110  its cause sets no event of ours
            await asyncio.sleep(0.1)
    return found
