"""Queues of Schedulers that have ended are gone from a real RabbitMQ server."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import aio_pika
import pytest
from aio_pika.abc import AbstractChannel, AbstractQueue
from aio_pika.exceptions import ChannelNotFoundEntity

from stepward.errors import QueueRefused
from stepward.model.records import Role
from stepward.transport.rabbitmq.requests_and_replies.ended_queues import EndedQueues
from stepward.transport.rabbitmq.requests_and_replies.queue_declarations import ARGUMENTS, QueueDeclarations
from tests.programs import program
from tests.transport.brokers import SERVERS, Heard, brokered, new_app
from tests.transport.messages import reply
from tests.transport.refused import application, pay

pytestmark = pytest.mark.servers

DEAD, HEIR = "replies.scheduler-dead", "replies.scheduler-heir"


@pytest.fixture
async def address() -> str:
    program("rabbitmq-server", "rabbitmq-server")
    return await asyncio.to_thread(SERVERS.rabbitmq)


async def remaining(address: str, app: str, queues: Sequence[str]) -> list[str]:
    """Those of the queues that the server still has."""
    found = []
    async with await aio_pika.connect(address) as connection:
        for queue in queues:
            channel = await connection.channel()
            try:
                await channel.declare_queue(f"stepward.{app}.{queue}", passive=True)
                found.append(queue)
            except ChannelNotFoundEntity:
                continue
    return found


async def test_the_queue_of_a_scheduler_goes_when_its_process_ends(address: str, tmp_path: Path) -> None:
    app = new_app()
    shop = application(app, address, tmp_path)
    async with shop.running(), shop.client() as client:
        assert await (await client.submit(pay, "o1")).result(timeout="20s") == "charge-o1"
        queues = [f"replies.{each.id}" for each in await client.instances() if each.role is Role.SCHEDULER]
        assert await remaining(address, app, queues) == queues
    assert await remaining(address, app, queues) == []


async def test_a_queue_that_empties_late_goes_when_its_scheduler_ends(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A busy server still counts what was just acknowledged."""
    looks: list[str] = []
    delete = EndedQueues._delete

    async def delayed(self: EndedQueues, queue: str, channel: AbstractChannel) -> bool:
        looks.append(queue)
        if len(looks) == 2:
            async with await aio_pika.connect(address) as connection, connection.channel() as operator:
                await (await operator.get_queue(f"stepward.{app}.{DEAD}", ensure=False)).purge()
        return await delete(self, queue, channel)

    monkeypatch.setattr(EndedQueues, "_delete", delayed)
    async with brokered(address, app=(app := new_app())) as transport:
        await transport.publish(DEAD, [reply("o1")])
        await transport.release(DEAD)
        assert await remaining(address, app, [DEAD]) == []


async def test_the_queue_of_a_dead_scheduler_goes_when_its_replies_are_adopted(address: str) -> None:
    async with brokered(address, app=(app := new_app())) as transport:
        await transport.publish(DEAD, [reply("o1"), reply("o2")])
        await transport.adopt([DEAD], HEIR)
        assert await remaining(address, app, [DEAD, HEIR]) == [HEIR]
        assert len(await transport.take(HEIR, 2, 10.0)) == 2


async def test_a_reply_that_comes_after_that_reaches_the_heir_too(address: str) -> None:
    async with brokered(address, app=(app := new_app())) as transport, brokered(address, app=app) as agents:
        await agents.publish(DEAD, [reply("o1")])
        await transport.adopt([DEAD], HEIR)
        await transport.settle(HEIR, await transport.take(HEIR, 1, 10.0))
        await agents.publish(DEAD, [reply("late")])
        await transport.adopt([DEAD], HEIR)
        assert [each.message.task for each in await transport.take(HEIR, 1, 10.0)] == ["late"]
        assert await remaining(address, app, [DEAD]) == []


@pytest.mark.parametrize("gone", ["queue", "exchange"])
async def test_what_is_deleted_while_a_reply_is_sent_is_made_again(
    address: str, monkeypatch: pytest.MonkeyPatch, gone: str
) -> None:
    """Another process deletes the queue, as its Scheduler has ended; an operator deletes the exchange."""
    app, events, deleted = new_app(), Heard(), list[str]()
    declare = QueueDeclarations.declare

    async def interrupted(self: QueueDeclarations, queue: str, channel: AbstractChannel) -> AbstractQueue:
        made = await declare(self, queue, channel)
        if queue == DEAD and not deleted:
            deleted.append(queue)
            async with await aio_pika.connect(address) as connection, connection.channel() as operator:
                if gone == "queue":
                    await operator.queue_delete(f"stepward.{app}.{DEAD}")
                else:
                    await operator.exchange_delete(f"stepward.{app}.queues")
        return made

    async with brokered(address, app=app, events=events) as agents, brokered(address, app=app) as transport:
        await agents.publish("replies.scheduler-other", [reply("o1")])
        monkeypatch.setattr(QueueDeclarations, "declare", interrupted)
        await agents.publish(DEAD, [reply("late")])
        assert deleted
        await transport.adopt([DEAD], HEIR)
        assert [each.message.task for each in await transport.take(HEIR, 1, 10.0)] == ["late"]
        assert "transport.refused" not in {event.name for event in events}


async def test_the_queue_of_a_scheduler_that_only_slept_stays(address: str) -> None:
    async with brokered(address, app=(app := new_app())) as transport, brokered(address, app=app) as sleeper:
        taking = asyncio.create_task(sleeper.take(DEAD, 1, 10.0))
        await sleeper.publish(DEAD, [reply("o1")])
        await taking
        await transport.adopt([DEAD], HEIR)
        assert await remaining(address, app, [DEAD]) == [DEAD]


async def test_a_reply_that_no_heir_takes_stays_where_it_is(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with brokered(address, app=new_app()) as transport:
        await transport.publish(DEAD, [reply("o1")])
        with monkeypatch.context() as full:
            full.setattr(
                "stepward.transport.rabbitmq.requests_and_replies.queue_declarations.ARGUMENTS",
                ARGUMENTS | {"x-max-length": 1},
            )
            with pytest.raises(QueueRefused):
                for number in range(5):
                    await transport.publish(HEIR, [reply(f"full-{number}")])
            with pytest.raises(QueueRefused):
                await transport.adopt([DEAD], HEIR)
        async with asyncio.timeout(30):
            assert [each.message.task for each in await transport.take(DEAD, 1, 10.0)] == ["o1"]


async def test_no_look_costs_more_than_a_few_queues(address: str) -> None:
    dead = [f"replies.scheduler-{number}" for number in range(25)]
    async with brokered(address, app=(app := new_app())) as transport:
        for queue in dead:
            await transport.publish(queue, [reply(queue)])
        for left in (15, 5, 0):
            await transport.adopt(dead, HEIR)
            assert len(await remaining(address, app, dead)) == left
