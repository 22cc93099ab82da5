"""All kinds of processes of one application at a NATS server, each with its login of docs/deployment.md, at work."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from functools import partial
from pathlib import Path

from nats.aio.client import Client as Connection
from nats.js.errors import NoStreamResponseError

from servers import nats
from stepward import Accepted, Agent, App, Client, Message, Queues, Transaction, wait_for, workflow
from stepward.client import session_of
from stepward.clock import Environment
from stepward.errors import TransportError
from stepward.events import Observers
from stepward.model.messages.signing import Signer, StoreIdentity
from stepward.transport.open_broker import broker_queues
from tests.transport.brokers import opened
from tests.transport.messages import request

LOGINS = {
    "admin": "admin:admin",
    "scheduler": "scheduler:SECRET-1",
    "payments": "payments:SECRET-2",
    "submission": "submission:SECRET-3",
    "web": "web:SECRET-4",
}
WEB = "replies.shop.web"
SPOILT = (
    ("responses.web", b"junk"),
    ("responses.web", b"more"),
    ("responses.other", b"junk"),
    ("queue.agents.payments", b"junk"),
    ("submissions.orders", b"junk"),
    ("queue.replies.nobody", b"[]"),
)
PAUSE = 0.1


class WholeShop:
    """``said`` has the refusals that starts and callers got."""

    def __init__(self, node: nats.NatsNode, folder: Path) -> None:
        self._node = node
        self._folder = folder
        self.said: asyncio.Queue[str] = asyncio.Queue()
        self._begun = asyncio.Event()

    async def open(self, stack: AsyncExitStack) -> Client:
        """Start all processes, and let them do all that a shop does until the stack is left."""
        scheduler, agents, submission = (self._application(login) for login in ("scheduler", "payments", "submission"))
        orders = await stack.enter_async_context(scheduler.client())
        for running in (
            scheduler.running(agents=False, submission=False),
            agents.running(scheduler=False, supervisor=False, submission=False, drain="0s"),
            submission.running(scheduler=False, supervisor=False, agents=False),
        ):
            try:
                await stack.enter_async_context(running)
            except TransportError as error:
                self.said.put_nowait(str(error))
        acts: list[Callable[[], Awaitable[None]]] = [self._spoil, self._follow]
        acts += [partial(each, orders) for each in (self._give_up, self._work, self._return)]
        for act in acts:
            stack.push_async_callback(_ended, asyncio.create_task(self._told(act)))
        return orders

    def _at(self, login: str) -> str:
        return self._node.address.replace("nats://", f"nats://{LOGINS[login]}@")

    async def _told(self, act: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await act()
                return
            except TransportError as error:
                self.said.put_nowait(str(error))
                await asyncio.sleep(PAUSE)

    async def _spoil(self) -> None:
        """Put into queues what cannot be read there, and an answer to a Scheduler that never was."""
        connection = Connection()
        try:
            await connection.connect(self._at("admin"))
            for subject, body in SPOILT:
                await _published(connection, f"stepward.shop.{subject}", body)
        finally:
            await connection.close()

    async def _give_up(self, orders: Client) -> None:
        """Have workflow code stop waiting for a step that its Agent has begun."""
        slow = await orders.submit("hurry", "slow", id="slow")
        await self._begun.wait()
        await slow.signal("enough")

    async def _work(self, orders: Client) -> None:
        """Have a step done, and dead letters tried again."""
        await orders.submit("fulfil", "o1", id="o1")
        left = {"agents.payments", "submissions.shop.orders"}
        while left:
            letters = [letter for letter in await orders.dead_letters() if letter.queue in left]
            await orders.put_back(*(letter.number for letter in letters))
            left -= {letter.queue for letter in letters}
            await asyncio.sleep(PAUSE)

    async def _follow(self) -> None:
        """Post as a front end, and hear what becomes of it."""
        await self._settle_behind()
        async with Queues(self._at("web"), app="shop") as queues:
            await queues.post("orders", "o2", id="o2", reply_to=WEB)
            async for _ in queues.events(WEB):
                continue

    async def _settle_behind(self) -> None:
        """Settle an event of a response queue of the front end's before the one in front of it."""
        queues = broker_queues(
            self._at("web"),
            app="shop",
            now=asyncio.get_running_loop().time,
            environment=Environment(),
            observers=Observers(),
            bury=None,
        )
        try:
            read = await queues.read(WEB, 0, 2)
            while len(read) < 2:
                read = [*read, *await queues.read(WEB, read[-1].token, 1)]
            await queues.settle(WEB, [read[1].token])
        finally:
            await queues.close()

    async def _return(self, orders: Client) -> None:
        """Give back a request, as an Agent does that takes more than it begins."""
        signer = Signer(await session_of(orders).store.host.identity(StoreIdentity.drawn(bytes(64))))
        transport = await opened(self._at("payments"), app="shop", signer=signer)
        try:
            await transport.publish("agents.payments", [request("o3")])
        finally:
            await transport.close()

    def _application(self, login: str) -> App:
        payments = Agent("payments")

        @payments.operation(complete_by="30s")
        async def charge(order: str) -> str:
            if order == "slow":
                self._begun.set()
                await asyncio.Event().wait()
            return f"charge-{order}"

        @workflow
        async def fulfil(order: str) -> str:
            return await charge(order)

        @workflow
        async def hurry(order: str) -> None:
            charging = asyncio.ensure_future(charge(order))
            await wait_for("enough")
            charging.cancel()
            await asyncio.wait([charging])

        async def accept(message: Message, transaction: Transaction) -> Accepted:
            return Accepted(fulfil, message.read(str))

        shop = App(
            "shop",
            workflows=[fulfil, hurry],
            agents=[payments],
            store=f"sqlite:///{self._folder}/shop.db",
            transport=self._at(login),
            lease="2s",
            poll="100ms",
        )
        shop.submission("orders", accept=accept)
        return shop


async def _published(connection: Connection, subject: str, body: bytes) -> None:
    """Publish it once the stream is there."""
    while True:
        with suppress(NoStreamResponseError):
            await connection.jetstream().publish(subject, body)
            return
        await asyncio.sleep(PAUSE)


async def _ended(acting: asyncio.Task[None]) -> None:
    acting.cancel()
    await asyncio.wait([acting])
    if not acting.cancelled():
        acting.result()
