"""A shop whose orders come in, and whose word goes out, through queues of a broker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeVar

from stepward import Accepted, App, Client, Message, Queues, StatusEvent, Unacceptable, workflow
from stepward.client.queues.events import StatusEvents
from stepward.events import Event
from stepward.model.records import DeadLetter
from stepward.running import Running
from stepward.store.contract import Transaction
from stepward.transport.queues.contract import AppQueues
from tests.transport.brokers import Heard, new_app

QUEUE = "orders"
BOUND = 120.0
LAST = "stepward.task.completed"
T = TypeVar("T")


@workflow()
async def fulfil(what: str) -> str:
    return what


class Shop:
    """The storefront's side of one application, and the processes that a test begins."""

    def __init__(self, address: str, folder: Path) -> None:
        self.address = address
        self.name = new_app()
        self.replies = f"replies.{self.name}.web"
        self.submissions = f"submissions.{self.name}.{QUEUE}"
        self.store = f"sqlite:///{folder / 'tasks.db'}"
        self.events = Heard()
        self.tries: list[tuple[str, int]] = []
        self.plans: dict[str, Callable[[Message], Awaitable[None]]] = {}
        self.client = Client(self.store, app=self.name)
        self.queues = self.door()
        self._stack = AsyncExitStack()

    def door(self) -> Queues:
        """The storefront's: it knows the broker alone."""
        return Queues(self.address, app=self.name)

    async def open(self) -> None:
        await self._stack.enter_async_context(self.client)
        await self._stack.enter_async_context(self.queues)
        async with self.client.transaction() as transaction:
            await transaction.execute("create table placed (id text)")

    async def close(self) -> None:
        await self._stack.aclose()

    def app(self, **settings: Any) -> App:
        app = App(self.name, workflows=[fulfil], store=self.store, transport=self.address, **settings)
        app.submission(QUEUE, accept=self.accept)
        app.observers.add(self.events.append)
        return app

    async def run(self, app: App | None = None, **roles: Any) -> Running:
        """Run the shop until the test's end."""
        return await self._stack.enter_async_context((app or self.app()).running(**roles))

    async def accept(self, message: Message, transaction: Transaction) -> Accepted:
        self.tries.append((message.id, message.tries))
        plan = self.plans.get(message.id)
        if plan is not None:
            await plan(message)
        what = message.read(str)
        if what == "nothing":
            raise Unacceptable("no such goods")
        await transaction.execute("insert into placed values (?)", (message.id,))
        return Accepted(fulfil, what)

    async def post(self, *ids: str, what: str = "tea", reply_to: bool = False) -> None:
        for id in ids:
            await self.queues.post(QUEUE, what, id=id, reply_to=self.replies if reply_to else None)

    async def put(self, *bodies: bytes, to: str | None = None) -> None:
        """Put a message without ``post``, as any program that reaches the broker may."""
        queues: AppQueues = self.queues._queues
        await queues.put(to or self.submissions, [(body, None) for body in bodies])

    async def placed(self) -> list[str]:
        async with self.client.transaction() as transaction:
            return [row[0] for row in await transaction.execute("select id from placed order by rowid")]

    async def has_placed(self, *ids: str) -> list[str]:
        """Wait for the orders of these; all that were placed."""

        async def look() -> list[str]:
            placed = await self.placed()
            return placed if set(ids) <= set(placed) else []

        return await until(look)

    async def buried(self, count: int = 1) -> list[DeadLetter]:
        """Wait for so many dead letters; they come oldest first."""

        async def look() -> list[DeadLetter]:
            found = await self.client.dead_letters()
            return found if len(found) >= count else []

        return (await until(look))[::-1]


async def told(events: StatusEvents, tasks: int = 1) -> list[StatusEvent]:
    """The events until so many tasks have ended."""
    found: list[StatusEvent] = []
    async with asyncio.timeout(BOUND):
        while sum(event.type == LAST for event in found) < tasks:
            found.append(await anext(events))
    return found


async def until(look: Callable[[], Awaitable[T]], *, within: float = BOUND) -> T:
    """What ``look`` gives once it is true: the one place that waits for other processes by looking again."""
    async with asyncio.timeout(within):
        while not (found := await look()):  # noqa: ASYNC110  its cause sets no event of ours
            await asyncio.sleep(0.02)
    return found


async def nothing_comes(events: AsyncIterator[StatusEvent], seconds: float) -> bool:
    waiting = asyncio.ensure_future(anext(events))
    await asyncio.wait({waiting}, timeout=seconds)
    came = waiting.done()
    waiting.cancel()
    await asyncio.wait({waiting})
    return not came


def of(events: list[Event], name: str) -> list[dict[str, Any]]:
    return [event.fields for event in events if event.name == name]
