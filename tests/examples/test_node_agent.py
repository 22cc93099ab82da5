"""The mail Agent in Node, as a process over a real NATS server, beside the others in Python."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from examples.orders import database, submission
from examples.orders.app import make_app
from examples.shop import node
from examples.shop.services.process import ServiceProcess
from servers import nats
from stepward import Client, Queues
from tests.examples.order_calls import BODY
from tests.programs import program
from tests.transport.brokers import clear
from tests.transport.wire.described import Described
from tests.transport.wire.doors import NatsDoor
from tests.transport.wire.taps import Tap, tapped_nats

pytestmark = pytest.mark.servers

BOUND = 120.0
REPLIES = "replies.orders.test"
FEW_LINES = 20


@pytest.fixture(scope="module")
def broker() -> Iterator[str]:
    program("node", "nodejs")
    program("npm", "npm")
    node.install()
    with nats.running() as server:
        yield server.address


class Shop:
    """The application without its mail Agent, and that one in Node."""

    def __init__(
        self,
        client: Client,
        queues: Queues,
        tap: Tap,
        mail: ServiceProcess,
        agent: asyncio.subprocess.Process,
    ) -> None:
        self.client = client
        self.tap = tap
        self.mail = mail
        self.agent = agent
        self._queues = queues
        self._events = queues.events(REPLIES)

    async def order(self, id: str) -> None:
        await self._queues.post(submission.QUEUE, BODY, id=id, reply_to=REPLIES)

    async def completed(self, id: str) -> None:
        async with asyncio.timeout(BOUND):
            async for event in self._events:
                if (event.subject, event.type) == (id, "stepward.task.completed"):
                    return

    async def mail_is_served(self) -> None:
        async def is_served() -> bool:
            return any("mail" in each.serves for each in await self.client.instances() if each.alive)

        await until(is_served)

    def said(self) -> list[dict[str, Any]]:
        """What the Agent answered."""
        batches = [json.loads(tapped.body) for tapped in self.tap if ".queue.replies." in tapped.address]
        return [event for batch in batches for event in batch if event["step"].startswith("mail.")]


async def until(look: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(BOUND):
        while not await look():  # noqa: ASYNC110  there is no event to wait for
            await asyncio.sleep(0.02)


@asynccontextmanager
async def node_agent(broker: str, mail: ServiceProcess) -> AsyncIterator[asyncio.subprocess.Process]:
    """The Agent as a process."""
    agent = await asyncio.create_subprocess_exec(
        program("node", "nodejs"),
        "index.mjs",
        cwd=node.FOLDER,
        env={**os.environ, "STEPWARD_TRANSPORT": broker, "ORDERS_MAIL_URL": mail.url},
        stdin=subprocess.DEVNULL,
    )
    try:
        yield agent
    finally:
        if agent.returncode is None:
            agent.kill()
        await agent.wait()


@asynccontextmanager
async def shop_at(broker: str, address: str, mail: ServiceProcess, folder: Path) -> AsyncIterator[Shop]:
    """The application at an address of the broker."""
    store = f"sqlite:///{folder}/orders.db"
    app = make_app(store=store, transport=address, supervisor_every="50ms")
    async with (
        tapped_nats(broker, "orders") as tap,
        app.running(agents=["stock", "payment", "parcel"], drain="100ms"),
        app.client() as client,
        Queues(address, app="orders") as queues,
        node_agent(address, mail) as agent,
    ):
        async with client.transaction() as transaction:
            await database.create_table(transaction)
        shop = Shop(client, queues, tap, mail, agent)
        await shop.mail_is_served()
        yield shop


@pytest.fixture
async def shop(broker: str, services: dict[str, ServiceProcess], tmp_path: Path) -> AsyncIterator[Shop]:
    async with shop_at(broker, broker, services["mail"], tmp_path) as shop:
        yield shop
    await clear(broker, "orders")


async def test_an_order_goes_through(shop: Shop) -> None:
    await shop.order("order-1")
    await shop.completed("order-1")
    (letter,) = await shop.mail.ledger()
    (key,) = await shop.mail.deliveries()
    assert (letter["order_id"], letter["details"], letter["key"]) == ("order-1", {"template": "on-its-way"}, key)
    (step,) = [step for step in await shop.client.task("order-1").steps() if step.name == "mail.send"]
    assert (key.endswith("/1/mail.send/1"), step.attempt) == (True, 1)


async def test_at_an_address_with_a_prefix_it_serves_that_application_and_no_other(
    broker: str, services: dict[str, ServiceProcess], tmp_path: Path
) -> None:
    async with shop_at(broker, f"{broker}?prefix=staging", services["mail"], tmp_path) as shop:
        await shop.order("order-5")
        await shop.completed("order-5")
        assert len(await shop.mail.ledger()) == 1
        assert list(shop.tap) == [], "what has no prefix"


async def test_it_sends_what_the_description_of_the_wire_allows(shop: Shop) -> None:
    await shop.mail.put_faults([{"kind": "flaky", "times": 1, "rate": 1}])
    await shop.order("order-2")
    await shop.completed("order-2")
    described = Described("nats")
    assert [complaint for tapped in shop.tap for complaint in described.complaints(tapped)] == []
    assert [(event["outcome"], event["attempt"]) for event in shop.said()] == [("gave_up", 1), ("completed", 2)]
    assert {"nats.told stepward.capacity", "nats.replies stepward.reply"} <= described.seen


@pytest.mark.faults
async def test_past_the_complete_by_it_sends_nothing_and_the_step_is_repeated(shop: Shop) -> None:
    await shop.mail.put_faults([{"kind": "hang", "times": 1}])
    await shop.order("order-3")
    await shop.completed("order-3")
    assert [(event["outcome"], event["attempt"]) for event in shop.said()] == [("completed", 2)]
    assert list((await shop.mail.deliveries()).values()) == [2], "both attempts under one key"


async def test_unreadable_input_does_not_end_it(broker: str, shop: Shop) -> None:
    for body in (b"?", b"[null,5,{}]", b'[{"type":"stepward.request"}]', b'[{"type":"stepward.request","data":1}]'):
        await NatsDoor(broker).put("orders", "agents.mail", body)
    await shop.order("order-4")
    await shop.completed("order-4")


async def test_on_sigterm_it_announces_its_end(shop: Shop) -> None:
    shop.agent.terminate()
    async with asyncio.timeout(BOUND):
        assert await shop.agent.wait() == 0

    async def has_no_room() -> bool:
        (mail,) = [each for each in await shop.client.instances() if each.alive and each.serves == ["mail"]]
        return [health.room for health in mail.health] == [0]

    await until(has_no_room)


def test_it_is_short() -> None:
    lines = (Path(node.__file__).parent / "node-agent" / "index.mjs").read_text(encoding="utf-8").splitlines()
    assert len(lines) < FEW_LINES
