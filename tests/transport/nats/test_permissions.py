"""The permissions that docs/deployment.md gives to users of a NATS server: they are enough, and no more than that."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import nats as client
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.js.api import DiscardPolicy, RetentionPolicy
from nats.js.errors import APIError

from servers import nats
from stepward import Agent, App, Queues, workflow
from stepward.client import session_of
from stepward.errors import TransportError

pytestmark = pytest.mark.servers

PAGE = Path(__file__).parents[3] / "docs" / "deployment.md"


def documented() -> str:
    """The block of the page that names users."""
    found = re.search(r"```\n(authorization \{.*?\n\})\n```", PAGE.read_text(), re.DOTALL)
    assert found is not None, "expected a block of authorization in the page"
    return found[1]


@pytest.fixture
def node() -> Iterator[nats.NatsNode]:
    with nats.running(users=documented()) as node:
        yield node


def application(address: str, folder: Path, sent: asyncio.Future[None] | None = None, **settings: Any) -> App:
    payments, mail = Agent("payments"), Agent("mail")

    @payments.operation(complete_by="20s")
    async def charge(order: str) -> str:
        return f"charge-{order}"

    @mail.operation(complete_by="20s")
    async def send(order: str) -> str:
        await (sent or asyncio.sleep(0))
        return f"mail-{order}"

    @workflow
    async def fulfil(order: str) -> str:
        return await charge(order)

    @workflow
    async def write(order: str) -> str:
        return await send(order)

    return App(
        "shop",
        workflows=[fulfil, write],
        agents=[payments, mail],
        store=f"sqlite:///{folder}/shop.db",
        transport=address,
        **settings,
    )


@asynccontextmanager
async def beside(node: nats.NatsNode, login: str) -> AsyncIterator[tuple[Client, asyncio.Queue[Exception]]]:
    """A connection with that login, and what the server refuses it."""
    refused: asyncio.Queue[Exception] = asyncio.Queue()

    async def err(error: Exception) -> None:
        refused.put_nowait(error)

    inbox = f"_INBOX.shop.{login.partition(':')[0]}"
    connection = await client.connect(
        node.address.replace("nats://", f"nats://{login}@"), error_cb=err, inbox_prefix=inbox
    )
    try:
        yield connection, refused
    finally:
        await connection.close()


async def test_the_documented_users_can_do_their_part(node: nats.NatsNode, tmp_path: Path) -> None:
    def address(login: str) -> str:
        return node.address.replace("nats://", f"nats://{login}@")

    shop = application(address("scheduler:SECRET-1"), tmp_path)
    agents = application(address("payments:SECRET-2"), tmp_path)
    async with (
        shop.running(agents=False),
        agents.running(scheduler=False, supervisor=False, agents=["payments"]),
        shop.client() as orders,
    ):
        tasks = [await orders.submit("fulfil", f"o{number}", id=f"o{number}") for number in range(20)]
        assert [await task.result(timeout="20s") for task in tasks] == [f"charge-o{number}" for number in range(20)]
    async with beside(node, "scheduler:SECRET-1") as (connection, refused):
        assert (await connection.jetstream().stream_info("STEPWARD_shop")).state.messages == 0
        assert refused.empty()


async def test_an_acknowledgement_that_is_refused_is_an_alert(tmp_path: Path) -> None:
    lacking = '"$JS.ACK.STEPWARD_shop.agents_payments.>"'
    assert lacking in documented()
    with nats.running(users=documented().replace(lacking, "")) as node:
        shop = application(login_at(node, "scheduler:SECRET-1"), tmp_path)
        agents = application(login_at(node, "payments:SECRET-2"), tmp_path)
        async with (
            shop.running(agents=False),
            agents.running(scheduler=False, supervisor=False, agents=["payments"]),
            shop.client() as orders,
            asyncio.timeout(60),
        ):
            await orders.submit("fulfil", "o1", id="o1")
            while not (found := await orders.alerts(10)):
                continue
    assert [alert.kind for alert in found] == ["queue_refused"]
    assert 'publish to "$js.ack.stepward_shop.agents_payments.' in found[0].message


async def test_an_agent_that_comes_before_any_scheduler_may_try_again(node: nats.NatsNode, tmp_path: Path) -> None:
    agents = application(login_at(node, "payments:SECRET-2"), tmp_path)
    with pytest.raises(TransportError, match=r"permissions violation .*; start a Scheduler first"):
        async with agents.running(scheduler=False, supervisor=False, agents=["payments"]):
            pass


@pytest.mark.parametrize(
    "subject",
    [
        "stepward.shop.queue.agents.mail",
        "stepward.other.queue.agents.payments",
        "stepward.shop.queue.replies.a.b",
        "stepward.shop.submissions.orders",
        "stepward.shop.told",
        "$JS.API.CONSUMER.DURABLE.CREATE.STEPWARD_shop.agents_payments",
        "$JS.API.CONSUMER.CREATE.STEPWARD_shop.agents_payments.stepward.shop.queue.agents.mail",
        "$JS.API.CONSUMER.CREATE.STEPWARD_shop",
        "$JS.API.CONSUMER.DELETE.STEPWARD_shop.agents_payments",
        "$JS.API.STREAM.UPDATE.STEPWARD_shop",
        "$JS.API.STREAM.UPDATE.STEPWARD_shop+store",
        "$JS.API.STREAM.DELETE.STEPWARD_shop+store",
        "$JS.API.STREAM.DELETE.STEPWARD_shop",
        "$JS.API.STREAM.PURGE.STEPWARD_shop",
        "$JS.API.STREAM.MSG.GET.STEPWARD_shop",
        "$JS.API.CONSUMER.MSG.NEXT.STEPWARD_shop.agents_mail",
        "$JS.ACK.STEPWARD_shop.agents_mail.1.1.1.1.1",
    ],
)
async def test_an_agents_user_can_do_no_others_part(node: nats.NatsNode, subject: str) -> None:
    async with beside(node, "payments:SECRET-2") as (connection, refused):
        await connection.publish(subject, b"[]")
        await connection.flush()
        assert "permissions violation" in str(await asyncio.wait_for(refused.get(), 5)).lower()


@pytest.mark.parametrize(
    ("login", "subject"),
    [
        *itertools.product(
            ["scheduler:SECRET-1", "payments:SECRET-2"],
            ["stepward.shop.queue.>", "stepward.other.told", "_INBOX.>", "_INBOX.other.>"],
        ),
        *itertools.product(["payments:SECRET-2"], ["_INBOX.shop.>", "_INBOX.shop.scheduler.>", "_INBOX.shop.mail.>"]),
    ],
)
async def test_no_user_receives_messages_for_another(node: nats.NatsNode, login: str, subject: str) -> None:
    async with beside(node, login) as (connection, refused):
        await connection.subscribe(subject)
        await connection.flush()
        assert "permissions violation" in str(await asyncio.wait_for(refused.get(), 5)).lower()


async def test_a_connection_without_a_login_is_refused(node: nats.NatsNode) -> None:
    nobody = Client()
    try:
        with pytest.raises(NatsError):
            await nobody.connect(node.address, allow_reconnect=False, max_reconnect_attempts=1, connect_timeout=2)
    finally:
        await nobody.close()


async def test_the_applications_user_can_post(node: nats.NatsNode) -> None:
    async with Queues(node.address.replace("nats://", "nats://scheduler:SECRET-1@"), app="shop") as queues:
        await queues.post("orders", {"cents": 1}, id="o1")


async def test_an_agents_user_finishes_no_step_of_another(node: nats.NatsNode, tmp_path: Path) -> None:
    sent: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    shop = application(login_at(node, "scheduler:SECRET-1"), tmp_path, sent)
    async with shop.running(agents=["mail"]), shop.client() as orders, beside(node, "payments:SECRET-2") as (thief, _):
        await announce(node)
        paid = await orders.submit("fulfil", "o1", id="o1")
        mailed = await orders.submit("write", "o2", id="o2")
        own = json.loads((await next_of(thief)).data)[0]
        (step,) = [each for each in await orders.task("o2").steps() if each.name == "mail.send"]
        record = await session_of(orders).record("o2")
        place = {"correlationid": record.uid, "run": record.run, "step": step.key, "attempt": step.attempt}
        forged = {**own, "type": "stepward.reply", "outcome": "completed", "data": "stolen", **place}
        for source in ("/stepward/shop/agents.mail", "/stepward/shop/agents.payments"):
            await publish(thief, f"stepward.shop.queue.{own['replyto']}", [{**forged, "source": source}])
        # Its own it can answer, in the same queue behind the others.
        answer = {**own, "type": "stepward.reply", "outcome": "completed", "data": "paid"}
        answer["source"] = "/stepward/shop/agents.payments"
        await publish(thief, f"stepward.shop.queue.{own['replyto']}", [answer])
        assert await paid.result(timeout="20s") == "paid"
        assert (await orders.task("o2").status()).state.value == "processing"
        assert [alert.kind for alert in await orders.alerts(10)] == ["unproven_message"]
        sent.set_result(None)
        assert await mailed.result(timeout="20s") == "mail-o2"


async def test_reply_queues_that_an_agents_user_invents_are_emptied(node: nats.NatsNode, tmp_path: Path) -> None:
    shop = application(login_at(node, "scheduler:SECRET-1"), tmp_path, lease="1s", poll="100ms")
    async with shop.running(agents=False, supervisor=False):
        async with beside(node, "payments:SECRET-2") as (connection, _):
            for number in range(50):
                await connection.jetstream().publish(f"stepward.shop.queue.replies.nobody-{number}", b"[]")
        async with beside(node, "scheduler:SECRET-1") as (connection, _), asyncio.timeout(30):
            while (await connection.jetstream().stream_info("STEPWARD_shop")).state.messages:  # noqa: ASYNC110
                await asyncio.sleep(0.1)


async def test_writes_of_an_agents_user_fill_no_other_queue(node: nats.NatsNode, tmp_path: Path) -> None:
    few = 20
    async with beside(node, "scheduler:SECRET-1") as (connection, _):
        await connection.jetstream().add_stream(
            name="STEPWARD_shop",
            subjects=["stepward.shop.queue.>"],
            retention=RetentionPolicy.WORK_QUEUE,
            discard=DiscardPolicy.NEW,
            max_msgs_per_subject=few,
            discard_new_per_subject=True,
            allow_msg_ttl=True,
        )
    async with beside(node, "payments:SECRET-2") as (flooder, refused):
        for queue in ("agents.payments", "replies.nobody"):
            with pytest.raises(APIError, match="maximum messages per subject"):
                for _ in range(few + 1):
                    await publish(flooder, f"stepward.shop.queue.{queue}", [])
        assert refused.empty()
    shop = application(login_at(node, "scheduler:SECRET-1"), tmp_path)
    async with shop.running(agents=["mail"]), shop.client() as orders:
        tasks = [await orders.submit("write", f"o{number}", id=f"o{number}") for number in range(2 * few)]
        assert [await task.result(timeout="20s") for task in tasks] == [f"mail-o{number}" for number in range(2 * few)]


def login_at(node: nats.NatsNode, login: str) -> str:
    return node.address.replace("nats://", f"nats://{login}@")


async def announce(node: nats.NatsNode) -> None:
    """Have the Schedulers know that the Agent is served."""
    told = {"specversion": "1.0", "type": "stepward.capacity", "id": "1", "source": "/stepward/shop/payments-1"}
    async with beside(node, "scheduler:SECRET-1") as (connection, _):
        told |= {"subject": "agents.payments"}
        await connection.publish("stepward.shop.told", json.dumps({**told, "capacity": 4}).encode())
        await connection.flush()


async def next_of(connection: Client) -> Msg:
    """The first message of the Agent's queue, as a program takes it that knows the wire alone."""
    asked = json.dumps({"batch": 1, "expires": 20_000_000_000}).encode()
    subject = "$JS.API.CONSUMER.MSG.NEXT.STEPWARD_shop.agents_payments"
    inbox = connection.new_inbox()
    subscription = await connection.subscribe(inbox)
    await connection.publish(subject, asked, reply=inbox)
    return await subscription.next_msg(20)


async def publish(connection: Client, subject: str, events: list[dict[str, Any]]) -> None:
    """Put a broker message into a stream, and wait until it is there."""
    await connection.jetstream().publish(subject, json.dumps(events).encode())
