from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import aio_pika
import pytest

from servers.ports import free_port
from servers.rabbitmq import RabbitServer
from stepward.errors import SettingsError, TransportError
from stepward.transport.contract import Delivery, Transport
from stepward.transport.rabbitmq.broker import RabbitBroker
from tests.transport.brokers import Buried, Heard, brokered, new_app, opened
from tests.transport.messages import reply, request

QUEUE = "agents.payments"
BOUND = 100.0

pytestmark = [pytest.mark.servers, pytest.mark.timeout(300)]


def tasks(deliveries: Sequence[Delivery]) -> list[str]:
    return [delivery.message.task for delivery in deliveries]


async def put(server: RabbitServer, app: str, queue: str, *bodies: bytes) -> None:
    """Put something into a queue beside all transports."""
    connection = await aio_pika.connect(server.address)
    channel = await connection.channel()
    for body in bodies:
        await channel.default_exchange.publish(aio_pika.Message(body), f"stepward.{app}.{queue}")
    await connection.close()


async def standing(server: RabbitServer, app: str, queue: str) -> int:
    """How many broker messages of a queue are ready, and not taken."""
    connection = await aio_pika.connect(server.address)
    found = await (await connection.channel()).declare_queue(f"stepward.{app}.{queue}", passive=True)
    await connection.close()
    return found.declaration_result.message_count or 0


async def until_published(transport: Transport, task: str) -> int:
    async with asyncio.timeout(BOUND):
        for refused in range(10_000):
            try:
                await transport.publish(QUEUE, [request(task)])
            except TransportError:
                await asyncio.sleep(0.05)
                continue
            return refused
    raise AssertionError("never taken")


async def until_taken(transport: Transport, wanted: set[str]) -> None:
    async with asyncio.timeout(BOUND):
        while wanted:
            try:
                found = await transport.take(QUEUE, 100, 30)
                await transport.settle(QUEUE, found)
            except TransportError:
                await asyncio.sleep(0.05)
                continue
            wanted -= {delivery.message.task for delivery in found}


async def test_an_unreachable_server_is_one_error_line() -> None:
    with pytest.raises(TransportError, match=r"expected RabbitMQ at 127\.0\.0\.1:\d+ to answer, found: ") as told:
        await opened(f"amqp://guest:canary@127.0.0.1:{free_port()}/", app="shop")
    assert "\n" not in str(told.value)
    assert "canary" not in str(told.value)


@pytest.mark.parametrize("address", ["amqp://", "amqp://127.0.0.1:port/", "amqp://[::1/"])
async def test_an_address_without_a_host_is_refused(address: str) -> None:
    with pytest.raises(SettingsError, match=r"expected amqp://USER:PASSWORD@HOST"):
        await opened(address, app="shop")


async def test_a_refused_login_is_one_line(server: RabbitServer) -> None:
    with pytest.raises(TransportError, match="found: ACCESS_REFUSED") as told:
        await opened(f"amqp://guest:canary@127.0.0.1:{server.port}/", app="shop")
    assert "canary" not in str(told.value)


async def test_messages_published_together_share_broker_messages(server: RabbitServer) -> None:
    app = new_app()
    async with brokered(server.address, app=app) as transport:
        await transport.publish(QUEUE, [request(str(number)) for number in range(200)])
        assert await standing(server, app, QUEUE) == 4


async def test_messages_of_a_dead_consumer_go_to_another(server: RabbitServer) -> None:
    app = new_app()
    async with brokered(server.address, app=app) as other:
        one = await opened(server.address, app=app)
        await other.publish(QUEUE, [request("a")])
        assert tasks(await one.take(QUEUE, 1, 1000)) == ["a"]
        await one.close()
        async with asyncio.timeout(BOUND):
            assert tasks(await other.take(QUEUE, 1, 30)) == ["a"]


async def test_messages_of_a_lost_connection_do_not_block_other_settlements(server: RabbitServer) -> None:
    app = new_app()
    async with brokered(server.address, app=app) as one, brokered(server.address, app=app) as other:
        await other.publish(QUEUE, [request("stale")])
        stale = await one.take(QUEUE, 2, 30)
        broker = one._broker
        assert isinstance(broker, RabbitBroker)
        line = broker._link.now
        assert line is not None
        await line.connection.close()
        async with asyncio.timeout(BOUND):
            assert tasks(await other.take(QUEUE, 1, 30)) == ["stale"]
            for task in "abcdef":
                await other.publish(QUEUE, [request(task)])
            live: list[Delivery] = []
            while len(live) < 2:
                live += await one.take(QUEUE, 2 - len(live), 30)
            await one.settle(QUEUE, [*stale, *live])
            left: list[str] = []
            while len(left) < 4:
                left += tasks(await one.take(QUEUE, 2, 30))
        assert sorted([*tasks(live), *left]) == list("abcdef")


async def test_messages_beyond_the_room_go_to_another_process(server: RabbitServer) -> None:
    app = new_app()
    async with brokered(server.address, app=app) as one, brokered(server.address, app=app) as other:
        await one.publish(QUEUE, [request("a"), request("b")])
        assert tasks(await one.take(QUEUE, 1, 30)) == ["a"]
        async with asyncio.timeout(BOUND):
            assert tasks(await other.take(QUEUE, 1, 30)) == ["b"]


async def test_unusable_messages_become_dead_letters(server: RabbitServer) -> None:
    app, buried = new_app(), Buried()
    async with brokered(server.address, app=app, buried=buried) as transport:
        await transport.publish("replies.s", [reply("a")])
        assert tasks(await transport.take("replies.s", 9, 30)) == ["a"]
        await put(server, app, "replies.s", b"?", b"[5]")
        await transport.publish("replies.s", [reply("b")])
        assert tasks(await transport.take("replies.s", 9, 30)) == ["b"]
    assert sorted(letter.body for _, letter in buried.letters) == [b"5", b"?"]


async def test_every_process_receives_a_revocation(server: RabbitServer) -> None:
    app, heard = new_app(), asyncio.Event()
    async with brokered(server.address, app=app) as one, brokered(server.address, app=app) as other:
        other.on_revoke(QUEUE, lambda *step: heard.set() if step == ("uid-1", 1, "x/1") else None)
        await one.revoke(QUEUE, "uid-1", 1, "x/1")
        async with asyncio.timeout(BOUND):
            await heard.wait()


@pytest.mark.faults
async def test_a_crash_costs_time_alone(server: RabbitServer) -> None:
    events, app = Heard(), new_app()
    async with brokered(server.address, app=app, events=events) as transport:
        await until_published(transport, "before")
        await asyncio.to_thread(server.await_written, f"stepward.{app}.{QUEUE}")
        await asyncio.to_thread(server.kill)
        await events.of("transport.lost")
        began = time.monotonic()
        with pytest.raises(TransportError, match="expected RabbitMQ at") as told:
            await transport.publish(QUEUE, [request("meanwhile")])
        assert time.monotonic() - began < 10
        assert "\n" not in str(told.value)
        await asyncio.to_thread(server.start)
        await until_published(transport, "after")
        await until_taken(transport, {"before", "after"})


@pytest.mark.faults
async def test_a_queue_that_a_crash_left_without_a_leader_is_made_again(
    server: RabbitServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RabbitMQ 3.10 knows the queue after it died in the very moment, and takes nothing for it."""
    monkeypatch.setattr("stepward.transport.rabbitmq.requests_and_replies.publisher.ANSWER_SECONDS", 1.0)
    monkeypatch.setattr("stepward.transport.rabbitmq.requests_and_replies.stuck_queues.STUCK_SECONDS", 2.0)
    lost: list[str | None] = []
    async with brokered(server.address) as transport:
        transport.on_lost(lost.append)
        await transport.publish(QUEUE, [request("before")])
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)
        await until_published(transport, "after")
        await until_taken(transport, {"after"})
    assert set(lost) <= {None, QUEUE}


@pytest.mark.faults
async def test_queues_that_were_lost_are_made_again(server: RabbitServer) -> None:
    async with brokered(server.address) as transport:
        await until_published(transport, "before")
        taking = asyncio.create_task(until_taken(transport, {"after"}))
        await asyncio.to_thread(server.wipe)
        await until_published(transport, "after")
        await taking
