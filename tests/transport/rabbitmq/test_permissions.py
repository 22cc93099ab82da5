"""The permissions that docs/deployment.md gives to users of a RabbitMQ server: they are enough, and no more."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import aio_pika
import pytest
from aio_pika.abc import AbstractChannel
from aiormq.exceptions import ChannelAccessRefused

from servers import rabbitmq
from stepward import Agent, App, workflow
from stepward.client import session_of
from stepward.errors import QueueRefused, SettingsError, TransportError
from tests.transport.brokers import brokered
from tests.transport.messages import reply, request

pytestmark = pytest.mark.servers

MAIL, OWN = "stepward.shop.agents.mail", "stepward.shop.agents.payments"


@pytest.fixture
async def guarded(server: rabbitmq.RabbitServer) -> AsyncIterator[rabbitmq.RabbitServer]:
    """The server, on which no store has the application's name yet."""
    await _forget_the_store(server)
    yield server
    await _forget_the_store(server)


async def _forget_the_store(server: rabbitmq.RabbitServer) -> None:
    async with channel_of(server, "guest") as channel:
        await channel.exchange_delete("stepward.shop.store")


def at(server: rabbitmq.RabbitServer, user: str) -> str:
    return server.address.replace("guest:guest", f"{user}:{user}")


def application(address: str, folder: Path, sent: asyncio.Future[None]) -> App:
    payments, mail = Agent("payments"), Agent("mail")

    @payments.operation(complete_by="30s")
    async def charge(order: str) -> str:
        return f"charge-{order}"

    @mail.operation(complete_by="30s")
    async def send(order: str) -> str:
        await sent
        return f"mail-{order}"

    @workflow
    async def fulfil(order: str) -> str:
        return await charge(order)

    @workflow
    async def write(order: str) -> str:
        return await send(order)

    store = f"sqlite:///{folder}/shop.db"
    return App("shop", workflows=[fulfil, write], agents=[payments, mail], store=store, transport=address)


@asynccontextmanager
async def channel_of(server: rabbitmq.RabbitServer, user: str) -> AsyncIterator[AbstractChannel]:
    connection = await aio_pika.connect(at(server, user))
    try:
        yield await connection.channel()
    finally:
        await connection.close()


async def test_an_agent_that_comes_before_any_scheduler_may_try_again(
    guarded: rabbitmq.RabbitServer, tmp_path: Path
) -> None:
    agents = application(at(guarded, "payments"), tmp_path, asyncio.get_running_loop().create_future())
    with pytest.raises(TransportError, match="start a Scheduler first"):
        async with agents.running(scheduler=False, supervisor=False, agents=["payments"]):
            pass


async def test_an_agent_of_another_store_is_refused(guarded: rabbitmq.RabbitServer, tmp_path: Path) -> None:
    sent: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    (tmp_path / "other").mkdir()
    async with application(at(guarded, "shop"), tmp_path, sent).running(agents=False):
        pass
    agents = application(at(guarded, "payments"), tmp_path / "other", sent)
    with pytest.raises(SettingsError, match="found the store 'unknown to this login'"):
        async with agents.running(scheduler=False, supervisor=False, agents=["payments"]):
            pass


async def test_the_documented_users_do_their_part_and_no_others(guarded: rabbitmq.RabbitServer, tmp_path: Path) -> None:
    sent: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    shop = application(at(guarded, "shop"), tmp_path, sent)
    agents = application(at(guarded, "payments"), tmp_path, sent)
    async with (
        shop.running(agents=["mail"]) as running,
        agents.running(scheduler=False, supervisor=False, agents=["payments"]),
        shop.client() as orders,
    ):
        tasks = [await orders.submit("fulfil", f"o{number}", id=f"o{number}") for number in range(10)]
        assert [await task.result(timeout="30s") for task in tasks] == [f"charge-o{number}" for number in range(10)]
        assert await orders.alerts(10) == []

        mailed = await orders.submit("write", "m", id="m")
        while not await orders.task("m").steps():  # noqa: ASYNC110  nothing tells of a step that began
            await asyncio.sleep(0.01)
        assert running.host.scheduler is not None
        replies = f"stepward.shop.replies.{running.host.scheduler.instance}"
        for act in refused_acts(replies):
            async with channel_of(guarded, "payments") as channel:
                with pytest.raises(ChannelAccessRefused):
                    await act(channel)

        record, (step,) = await session_of(orders).record("m"), await orders.task("m").steps()
        forged: dict[str, Any] = {
            "specversion": "1.0",
            "type": "stepward.reply",
            "id": "1",
            "source": "/stepward/shop/agents.mail",
            "correlationid": record.uid,
            "run": record.run,
            "step": step.key,
            "attempt": step.attempt,
            "outcome": "completed",
            "data": "stolen",
        }
        async with channel_of(guarded, "payments") as channel:
            body = json.dumps([forged]).encode()
            through = await channel.get_exchange("stepward.shop.queues", ensure=False)
            await through.publish(aio_pika.Message(body), replies.removeprefix("stepward.shop."))
        while not (alerts := await orders.alerts(10)):  # noqa: ASYNC110  another actor raises it
            await asyncio.sleep(0.01)
        assert [alert.kind for alert in alerts] == ["old_wire"]
        sent.set_result(None)
        assert await mailed.result(timeout="30s") == "mail-m"


async def test_a_reply_to_a_scheduler_that_has_ended_reaches_the_next(guarded: rabbitmq.RabbitServer) -> None:
    """The Agent's user may not make the queue again, and need not."""
    async with brokered(at(guarded, "shop"), app="shop") as transport:
        await transport.publish("replies.dead", [reply("first")])
        async with brokered(at(guarded, "payments"), app="shop") as agent:
            await agent.publish("replies.dead", [reply("second")])
            await transport.adopt(["replies.dead"], "replies.heir")
            taken = await transport.take("replies.heir", 2, 10.0)
            while len(taken) < 2:
                taken += await transport.take("replies.heir", 2 - len(taken), 10.0)
            assert {each.message.task for each in taken} == {"first", "second"}
            await agent.publish("replies.dead", [reply("late")])
        await transport.settle("replies.heir", taken)
        await transport.adopt(["replies.dead"], "replies.heir")
        assert [each.message.task for each in await transport.take("replies.heir", 1, 10.0)] == ["late"]


async def test_a_request_goes_to_no_queue_that_was_deleted_and_may_not_be_made(guarded: rabbitmq.RabbitServer) -> None:
    """The exchange would take it for a reply without an owner, and confirm it."""
    queue = "agents.payments"
    async with brokered(at(guarded, "shop"), app="shop") as transport:
        await transport.publish(queue, [request("first")])
        async with brokered(at(guarded, "payments"), app="shop") as agent:
            await agent.publish(queue, [request("second")])
            async with channel_of(guarded, "guest") as channel:
                await channel.queue_delete(OWN)
            with pytest.raises(QueueRefused, match=f"queue {queue}: .* found: NOT_FOUND"):
                await agent.publish(queue, [request("third")])
            await transport.publish(queue, [request("fourth")])
            await agent.publish(queue, [request("fifth")])
        taken = await transport.take(queue, 2, 10.0)
        assert {each.message.task for each in taken} <= {"fourth", "fifth"}


def refused_acts(replies: str) -> list[Callable[[AbstractChannel], Awaitable[object]]]:
    """What the user of the payments Agent may not do."""

    async def get(channel: AbstractChannel, queue: str) -> None:
        await (await channel.get_queue(queue, ensure=False)).get(fail=False)

    async def declare(channel: AbstractChannel) -> None:
        await channel.declare_exchange("stepward.shop.store", durable=True)

    async def fill(channel: AbstractChannel, exchange: str, key: str) -> None:
        named = await channel.get_exchange(exchange, ensure=False) if exchange else channel.default_exchange
        await named.publish(aio_pika.Message(b"[]"), key)

    others = ("agents.mail", "submissions.orders", "responses.web")
    return [
        *[partial(fill, exchange="", key=f"stepward.shop.{queue}") for queue in (*others, replies[14:])],
        *[partial(fill, exchange="stepward.shop.queues", key=queue) for queue in others],
        partial(fill, exchange="stepward.shop.told", key=""),
        lambda channel: channel.queue_delete(replies),
        lambda channel: channel.queue_delete(OWN),
        lambda channel: channel.queue_delete("stepward.shop.replies.unclaimed"),
        lambda channel: channel.exchange_delete("stepward.shop.told"),
        lambda channel: channel.exchange_delete("stepward.shop.queues"),
        lambda channel: channel.queue_delete("stepward.shop.told.shop.1"),
        lambda channel: get(channel, MAIL),
        lambda channel: get(channel, replies),
        lambda channel: channel.queue_delete(MAIL),
        lambda channel: channel.exchange_delete("stepward.shop.store"),
        declare,
    ]
