"""AMQP 1.0 at a real RabbitMQ and ActiveMQ: what the conformance suite does not ask, and some of it."""

from __future__ import annotations

import asyncio
from typing import Any

import aio_pika
import pytest

from servers.activemq import ActiveMqServer
from servers.ports import free_port
from servers.rabbitmq import RabbitServer
from stepward.errors import QueueRefused, SettingsError, TransportError
from stepward.model.messages.signing import Signer, StoreIdentity
from stepward.transport.amqp10.protocol.connection import AmqpConnection
from stepward.transport.amqp10.protocol.faults import AmqpFault
from stepward.transport.contract import Transport
from stepward.transport.queues.broker_queues import BrokerQueues
from tests.transport.brokers import SERVERS, Heard, app_queues, brokered, new_app, opened
from tests.transport.messages import SIGNER, reply, request

QUEUE = "agents.payments"
ORDERS, WEB = "submissions.shop.orders", "replies.shop.web"
LEASE = 1.0
BOUND = 60.0

Served = RabbitServer | ActiveMqServer
NARROW = {"RabbitMQ": "payments", "ActiveMQ": "web"}
"""A login that may not submit."""
REFUSALS = {"RabbitMQ": "ACCESS_REFUSED .* user '{}'", "ActiveMQ": "User {} is not authorized"}

pytestmark = [pytest.mark.servers, pytest.mark.timeout(300)]


async def tasks(transport: Transport, queue: str, limit: int = 10) -> list[str]:
    async with asyncio.timeout(BOUND):
        return [each.message.task for each in await transport.take(queue, limit, LEASE)]


async def test_requests_and_replies_pass_between_two_processes(address: str) -> None:
    app = new_app()
    async with brokered(address, app=app) as scheduler, brokered(address, app=app) as agent:
        await scheduler.publish(QUEUE, [request("a"), request("b")])
        taken = await agent.take(QUEUE, 10, LEASE)
        await agent.publish("replies.scheduler-1", [reply("a"), reply("b")])
        await agent.settle(QUEUE, taken)
        assert await tasks(scheduler, "replies.scheduler-1") == ["a", "b"]


async def test_a_message_that_is_not_settled_in_its_lease_goes_to_another_process(address: str) -> None:
    app = new_app()
    async with brokered(address, app=app) as slow, brokered(address, app=app) as other:
        await slow.publish(QUEUE, [request("a")])
        assert await tasks(slow, QUEUE) == ["a"]
        assert await tasks(other, QUEUE) == ["a"]


async def test_a_revocation_reaches_another_process(address: str) -> None:
    app = new_app()
    async with brokered(address, app=app) as scheduler, brokered(address, app=app) as agent:
        heard: asyncio.Future[tuple[str, int, str]] = asyncio.get_running_loop().create_future()
        agent.on_revoke(QUEUE, lambda *step: heard.set_result(step))
        await scheduler.revoke(QUEUE, "uid-1", 2, "payments.charge/1")
        async with asyncio.timeout(BOUND):
            assert await heard == ("uid-1", 2, "payments.charge/1")


async def test_replies_to_a_dead_scheduler_go_to_its_heir(address: str) -> None:
    async with brokered(address, app=new_app()) as transport:
        await transport.publish("replies.dead", [reply("a"), reply("b")])
        await transport.adopt(["replies.dead", "replies.unknown"], "replies.heir")
        assert await tasks(transport, "replies.heir") == ["a", "b"]


async def test_a_submission_that_returns_is_counted_each_time(address: str) -> None:
    queues = app_queues(address, new_app())
    await queues.put(ORDERS, [(b"poison", None)])
    for tries in (1, 2, 3):
        async with asyncio.timeout(BOUND):
            (message,) = await queues.take(ORDERS, 9, 0.3)
        assert (message.body, message.tries) == (b"poison", tries)
    await queues.settle(ORDERS, [message.token])
    await queues.close()


async def test_events_come_in_order_to_the_reader_and_to_an_observer(address: str) -> None:
    app = new_app()
    writer, reader = app_queues(address, app), app_queues(address, app)
    watching = asyncio.ensure_future(reader.watch(WEB).read(0, 9))
    await until_watched(writer, watching)
    found: list[bytes] = []
    async with asyncio.timeout(BOUND):
        while not found or found[-1] != b"9":
            stored = await reader.read(WEB, 0, 9)
            found += [each.body for each in stored]
            await reader.settle(WEB, [each.token for each in stored])
    assert found[-9:] == [b"%d" % number for number in range(1, 10)]
    await writer.close()
    await reader.close()


async def until_watched(writer: BrokerQueues, watching: asyncio.Future[Any]) -> None:
    """Put events until an observer sees one: when its link stands, only the broker knows."""
    async with asyncio.timeout(BOUND):
        while not watching.done():
            await writer.put(WEB, [(b"before", None)])
            await asyncio.wait({watching}, timeout=0.05)
    await writer.put(WEB, [(b"%d" % number, None) for number in range(1, 10)])


# ---------------------------------------------------------------- refusals


async def test_another_store_is_refused_the_applications_name(server: Served, address: str) -> None:
    app = new_app()
    found = rf"of the store 'another' at {server.name} .*, found the store '5d0c9be1"
    async with brokered(address, app=app):
        other = Signer(StoreIdentity("another", bytes(range(32))))
        with pytest.raises(SettingsError, match=found):
            await opened(address, app=app, signer=other)
        async with brokered(f"{address}?prefix=second", app=app, signer=other):
            pass


async def test_of_two_stores_that_begin_at_one_instant_one_has_the_applications_name(address: str) -> None:
    app, other = new_app(), Signer(StoreIdentity("another", bytes(range(32))))
    outcomes = await asyncio.gather(
        *(opened(address, app=app, signer=signer) for signer in (SIGNER, other) for _ in range(3)),
        return_exceptions=True,
    )
    begun = [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
    for transport in begun:
        await transport.close()
    ends = [type(outcome) for outcome in outcomes]
    assert ends.count(SettingsError) == len(begun) == 3
    assert len(set(ends[:3])) == len(set(ends[3:])) == 1


async def test_an_unreachable_broker_is_one_error_line() -> None:
    with pytest.raises(TransportError, match=r"expected AMQP 1\.0 at 127\.0\.0\.1:\d+ to answer, found: ") as refused:
        await opened(f"amqp10://guest:canary@127.0.0.1:{free_port()}", app="shop")
    assert "\n" not in str(refused.value)
    assert "canary" not in str(refused.value)


async def test_a_refused_login_is_one_line(server: Served) -> None:
    with pytest.raises(TransportError, match="found: the login is refused; give the USER:PASSWORD") as refused:
        await opened(f"amqp10://guest:canary@127.0.0.1:{server.port}", app="shop")
    assert "canary" not in str(refused.value)


async def test_a_missing_right_is_named(server: Served, address: str) -> None:
    with pytest.raises(QueueRefused, match=REFUSALS[server.name].format("web")):
        await opened(address.replace("guest:guest", "web:web"), app=new_app())


async def test_a_queue_of_the_other_protocol_is_used_as_it_is(rabbit: RabbitServer) -> None:
    app, address = new_app(), SERVERS.amqp10()
    name = f"stepward.{app}.{QUEUE}"
    async with await aio_pika.connect(rabbit.address) as operator:
        channel = await operator.channel()
        await channel.declare_queue(name, durable=True, arguments={"x-queue-type": "quorum"})
        async with brokered(address, app=app) as transport:
            await transport.publish(QUEUE, [request("a")])
            assert await tasks(transport, QUEUE) == ["a"]


async def test_refusals_of_queues_leave_the_connection_as_it_is(server: Served, address: str) -> None:
    events, user = Heard(), NARROW[server.name]
    queues = app_queues(address.replace("guest:guest", f"{user}:{user}"), new_app(), events=events)
    for _ in range(20):
        with pytest.raises(QueueRefused, match=REFUSALS[server.name].format(user)):
            await queues.put(ORDERS, [(b"1", None)])
    assert "transport.lost" not in {event.name for event in events}
    await queues.close()


@pytest.mark.parametrize("broken", ["amqp10://", "amqp10://127.0.0.1:port", "amqp10://h?replicas=3&plaintext=allowed"])
async def test_an_address_without_a_host_or_with_more_than_it_may_have_is_refused(broken: str) -> None:
    with pytest.raises(SettingsError, match=r"expected amqp10://USER:PASSWORD@HOST"):
        await opened(broken, app="shop")


@pytest.mark.parametrize("scheme", ["amqp", "amqps", "amqp10s"])
async def test_service_bus_by_another_scheme_is_refused_with_its_address(scheme: str) -> None:
    with pytest.raises(SettingsError, match=r"write sb://POLICY:KEY@shop\.servicebus\.windows\.net") as refused:
        await opened(f"{scheme}://root:canary@shop.servicebus.windows.net?plaintext=allowed", app="shop")
    assert "canary" not in str(refused.value)


# ---------------------------------------------------------------- a broker that is hurt


@pytest.mark.faults
async def test_messages_outlive_a_crash_of_the_broker(server: Served, address: str) -> None:
    events = Heard()
    async with brokered(address, app=new_app(), events=events) as transport:
        await transport.publish(QUEUE, [request("a")])
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)
        await events.of("transport.connected")
        assert await tasks(transport, QUEUE) == ["a"]
        assert "transport.messages_lost" not in {event.name for event in events}


@pytest.mark.faults
async def test_a_broker_that_lost_everything_is_noticed(server: Served, address: str) -> None:
    lost: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
    async with brokered(address, app=new_app()) as transport:
        transport.on_lost(lost.set_result)
        await asyncio.to_thread(server.wipe)
        async with asyncio.timeout(BOUND):
            assert await lost is None
        await transport.publish(QUEUE, [request("a")])
        assert await tasks(transport, QUEUE) == ["a"]


@pytest.mark.faults
async def test_a_loss_is_noticed_though_the_connection_that_found_it_fails(
    server: Served, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
    faults: list[AmqpFault] = []
    opened_link = AmqpConnection.receiver

    async def receiver(line: AmqpConnection, *given: Any, **named: Any) -> Any:
        if named.get("is_topic") and faults:
            raise faults.pop()
        return await opened_link(line, *given, **named)

    monkeypatch.setattr(AmqpConnection, "receiver", receiver)
    async with brokered(address, app=new_app()) as transport:
        transport.on_lost(lost.set_result)
        faults.append(AmqpFault("the connection ends before its broadcasts"))
        await asyncio.to_thread(server.wipe)
        async with asyncio.timeout(BOUND):
            assert await lost is None
        assert faults == []
