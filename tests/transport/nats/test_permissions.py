"""The permissions that docs/deployment.md gives to users of a NATS server: they are enough, and no more than that."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import nats as client
import pytest
from nats.aio.client import Client
from nats.errors import Error as NatsError

from servers import nats
from stepward import Agent, App, Queues, workflow

pytestmark = pytest.mark.servers

PAGE = Path(__file__).parents[3] / "docs" / "deployment.md"


def documented() -> str:
    """The block of the page that names users."""
    found = re.search(r"```\n(authorization \{.*?\n\})\n```", PAGE.read_text(), re.DOTALL)
    assert found is not None, "expected a block of authorization in the page"
    return found[1]


@pytest.fixture
def node() -> Iterator[nats.Node]:
    with nats.running(users=documented()) as node:
        yield node


def application(address: str, folder: Path) -> App:
    payments = Agent("payments")

    @payments.operation(complete_by="20s")
    async def charge(order: str) -> str:
        return f"charge-{order}"

    @workflow
    async def fulfil(order: str) -> str:
        return await charge(order)

    return App("shop", workflows=[fulfil], agents=[payments], store=f"sqlite:///{folder}/shop.db", transport=address)


@asynccontextmanager
async def beside(node: nats.Node, login: str) -> AsyncIterator[tuple[Client, asyncio.Queue[Exception]]]:
    """A connection with that login, and what the server refuses it."""
    refused: asyncio.Queue[Exception] = asyncio.Queue()

    async def err(error: Exception) -> None:
        refused.put_nowait(error)

    connection = await client.connect(
        node.address.replace("nats://", f"nats://{login}@"), error_cb=err, inbox_prefix="_INBOX.shop"
    )
    try:
        yield connection, refused
    finally:
        await connection.close()


async def test_the_documented_users_can_do_their_part(node: nats.Node, tmp_path: Path) -> None:
    def address(login: str) -> str:
        return node.address.replace("nats://", f"nats://{login}@")

    shop = application(address("shop:SECRET-1"), tmp_path)
    agents = application(address("payments:SECRET-2"), tmp_path)
    async with shop.running(agents=False), agents.running(scheduler=False, supervisor=False), shop.client() as orders:
        tasks = [await orders.submit("fulfil", f"o{number}", id=f"o{number}") for number in range(20)]
        assert [await task.result(timeout="20s") for task in tasks] == [f"charge-o{number}" for number in range(20)]
    async with beside(node, "shop:SECRET-1") as (connection, refused):
        assert (await connection.jetstream().stream_info("STEPWARD_shop")).state.messages == 0
        assert refused.empty()


@pytest.mark.parametrize(
    "subject",
    [
        "stepward.shop.queue.agents.mail",
        "stepward.other.queue.agents.payments",
        "$JS.API.STREAM.DELETE.STEPWARD_shop",
        "$JS.API.STREAM.PURGE.STEPWARD_shop",
        "$JS.API.STREAM.MSG.GET.STEPWARD_shop",
        "$JS.API.CONSUMER.MSG.NEXT.STEPWARD_shop.agents_mail",
        "$JS.ACK.STEPWARD_shop.agents_mail.1.1.1.1.1",
    ],
)
async def test_an_agents_user_can_do_no_others_part(node: nats.Node, subject: str) -> None:
    async with beside(node, "payments:SECRET-2") as (connection, refused):
        await connection.publish(subject, b"[]")
        await connection.flush()
        assert "permissions violation" in str(await asyncio.wait_for(refused.get(), 5)).lower()


@pytest.mark.parametrize("subject", ["stepward.shop.queue.>", "stepward.other.told", "_INBOX.>", "_INBOX.other.>"])
@pytest.mark.parametrize("login", ["shop:SECRET-1", "payments:SECRET-2"])
async def test_no_user_hears_what_is_not_for_it(node: nats.Node, login: str, subject: str) -> None:
    async with beside(node, login) as (connection, refused):
        await connection.subscribe(subject)
        await connection.flush()
        assert "permissions violation" in str(await asyncio.wait_for(refused.get(), 5)).lower()


async def test_nobody_comes_without_a_login(node: nats.Node) -> None:
    nobody = Client()
    try:
        with pytest.raises(NatsError):
            await nobody.connect(node.address, allow_reconnect=False, max_reconnect_attempts=1, connect_timeout=2)
    finally:
        await nobody.close()


async def test_the_applications_user_can_post(node: nats.Node) -> None:
    async with Queues(node.address.replace("nats://", "nats://shop:SECRET-1@"), app="shop") as queues:
        await queues.post("orders", {"cents": 1}, id="o1")
