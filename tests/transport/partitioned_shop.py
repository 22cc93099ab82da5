"""An application over two stores at a broker, each kind of process with its login of docs/partitions.md, at work."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

from stepward import Accepted, Agent, App, Message, Queues, Transaction, workflow
from stepward.store.partitions.placement import initial_shards, shard_of
from tests.until import until

PAGE = (Path(__file__).parents[2] / "docs" / "partitions.md").read_text()
WEB = "replies.shop.web"
HERE, THERE = (
    [id for number in range(60) if shard_of(id := f"o{number}") in shards][:6] for shards in initial_shards(2)
)
"""Ids that are placed in the first store, and in the second."""


class PartitionedShop:
    """``at`` gives the broker's address for a login; ``admin`` is one that may do everything."""

    def __init__(self, at: Callable[[str], str], admin: str, folder: Path) -> None:
        self._at = at
        self._admin = admin
        self._folder = folder

    async def works(self) -> None:
        """Start all processes, let them do all that a shop does, and expect that nothing was refused."""
        shop, agents, submission = (self._application(login) for login in ("scheduler", "payments", "submission"))
        async with AsyncExitStack() as stack, asyncio.timeout(60):
            for running in (
                shop.running(agents=False, submission=False),
                agents.running(scheduler=False, supervisor=False, submission=False, agents=["payments"]),
                submission.running(scheduler=False, supervisor=False, agents=False),
            ):
                await stack.enter_async_context(running)
            client = await stack.enter_async_context(self._application("web").client())
            tasks = [await client.submit("fulfil", id, id=id) for id in (*HERE[:2], *THERE[:2])]
            assert [await task.result() for task in tasks] == [f"charge-{task.id}" for task in tasks]
            await self._post()
            (letter,) = await until(client.dead_letters)
            await client.put_back(letter.number)
            await until(client.dead_letters, lambda found: [each.number for each in found] not in ([], [letter.number]))
            assert {alert.kind for alert in await client.alerts()} == {"dead_letter"}

    async def _post(self) -> None:
        """Post as a front end, hear what becomes of it, and post what is no order."""
        posted = [*HERE[2:5], *THERE[2:5]]
        async with Queues(self._admin, app="shop") as queues:
            await queues.post("p1.orders", posted[-1], id=posted[-1], reply_to=WEB)
        async with Queues(self._at("web"), app="shop") as queues:
            for id in posted[:-1]:
                await queues.post("orders", id, id=id, reply_to=WEB)
            left = set(posted)
            async for event in queues.events(WEB):
                left -= {event.subject} if event.type == "stepward.task.completed" else set()
                if not left:
                    break
            await queues.post("orders", 1, id=THERE[5])

    def _application(self, login: str) -> App:
        payments = Agent("payments")

        @payments.operation(complete_by="30s")
        async def charge(order: str) -> str:
            return f"charge-{order}"

        @workflow
        async def fulfil(order: str) -> str:
            return await charge(order)

        async def accept(message: Message, transaction: Transaction) -> Accepted:
            return Accepted(fulfil, message.read(str))

        shop = App(
            "shop",
            workflows=[fulfil],
            agents=[payments],
            store=[f"sqlite:///{self._folder / name}.db" for name in ("a", "b")],
            transport=self._at(login),
            poll="50ms",
        )
        shop.submission("orders", accept=accept)
        return shop
