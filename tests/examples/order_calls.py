"""How the tests put orders before the order application, and how they wait for what becomes of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from examples.orders import database, submission
from examples.orders.app import make_app
from examples.orders.database import OrderRecord
from showcase.waiting import Waits
from stepward import App, Client, Queues, StatusEvent

T = TypeVar("T")

BODY: dict[str, Any] = {
    "customer": "Ada",
    "lines": [{"product": "teapot", "quantity": 2}, {"product": "kettle", "quantity": 1}],
    "address": "Harbour Street 5",
    "care": "normal",
}
REPLIES = "replies.orders.test"
ENDS = frozenset({"stepward.task.completed", "stepward.task.undone", "stepward.task.cancelled", "stepward.task.failed"})


class Desk:
    """One application on a store of its own, seen from outside: messages go in, events come out."""

    def __init__(self, app: App, client: Client, queues: Queues) -> None:
        self.app = app
        self.client = client
        self._queues = queues
        self._events = queues.events(REPLIES)
        self._waits = Waits()

    async def post(self, id: str, **fields: Any) -> None:
        """Post an order as the storefront does."""
        await self._queues.post(submission.QUEUE, BODY | fields, id=id, reply_to=REPLIES)

    async def heard(self, *types: str) -> StatusEvent:
        """The next event of one of these types."""
        return await anext(event async for event in self._events if event.type in types)

    async def until(self, look: Callable[[], Awaitable[T]]) -> T:
        """What `look` finds, once it finds something."""
        return await self._waits.until("what the test looks for", look)

    async def orders(self) -> list[OrderRecord]:
        """The orders database."""
        async with self.client.transaction() as transaction:
            await database.create_table(transaction)
            return await database.read_orders(transaction)


@asynccontextmanager
async def open_desk(store: str) -> AsyncIterator[Desk]:
    """The application with all its actors in one process, none of which runs yet."""
    app = make_app(store=store, supervisor_every="50ms")
    client = app.client()
    async with client, Queues(store, app="orders") as queues:
        yield Desk(app, client, queues)
