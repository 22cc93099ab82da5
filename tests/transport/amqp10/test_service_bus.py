"""Azure Service Bus, at a double that behaves as its documentation says; none of this was run against Azure."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from servers.certificates import Authority
from servers.service_bus.namespace import ALL, Namespace
from stepward.errors import QueueRefused, SettingsError, TransportError
from stepward.model.messages.signing import Signer, StoreIdentity
from stepward.transport.amqp10.protocol.connection import AmqpConnection
from stepward.transport.amqp10.protocol.socket_driver import Login
from stepward.transport.amqp10.service_bus.tokens import EntraIdentity, signature
from stepward.transport.broker.tls import TlsFiles
from stepward.transport.contract import Transport
from tests.programs import client_of_amqp10
from tests.transport.amqp10 import double
from tests.transport.brokers import Heard, app_queues, brokered, opened
from tests.transport.messages import reply, request

QUEUE, ORDERS, WEB = "agents.payments", "submissions.shop.orders", "replies.shop.web"
BOUND = 30.0

pytestmark = [pytest.mark.servers, pytest.mark.timeout(120)]


@pytest.fixture
async def bus() -> AsyncIterator[tuple[str, Namespace]]:
    client_of_amqp10()
    async with double.service_bus() as given:
        yield given


@pytest.fixture
async def brief() -> AsyncIterator[tuple[str, Namespace]]:
    """Its locks last two seconds."""
    client_of_amqp10()
    async with double.service_bus(double.brief) as given:
        yield given


async def tasks(transport: Transport, queue: str, lease: float = 10.0) -> list[str]:
    async with asyncio.timeout(BOUND):
        return [each.message.task for each in await transport.take(queue, 10, lease)]


# ---------------------------------------------------------------- locks and sessions


async def test_a_lock_is_renewed_with_the_lease(brief: tuple[str, Namespace]) -> None:
    address, namespace = brief
    async with brokered(address, app="shop") as transport:
        await transport.publish(QUEUE, [request("a")])
        taken = await transport.take(QUEUE, 1, 1.5)
        entity = namespace.entities["stepward.shop.agents.payments"]
        for _ in range(3):
            await asyncio.sleep(1.0)
            await transport.extend(QUEUE, taken, 1.5)
        (stored,) = entity.messages
        assert stored.deliveries == 0
        await transport.settle(QUEUE, taken)
        async with asyncio.timeout(BOUND):
            while entity.messages:  # noqa: ASYNC110  nothing tells of it
                await asyncio.sleep(0.01)


async def test_a_lock_that_is_lost_is_reported(brief: tuple[str, Namespace]) -> None:
    address, namespace = brief
    async with brokered(address, app="shop") as transport:
        await transport.publish(QUEUE, [request("a")])
        taken = await transport.take(QUEUE, 1, 1.5)
        (stored,) = namespace.entities["stepward.shop.agents.payments"].messages
        namespace.entities["stepward.shop.agents.payments"].unlock(stored, stored.token)
        with pytest.raises(TransportError, match=r"renew-lock .* The lock is lost"):
            await transport.extend(QUEUE, taken, 1.5)


async def test_a_lock_that_is_lost_keeps_no_other_from_being_renewed(brief: tuple[str, Namespace]) -> None:
    address, namespace = brief
    async with brokered(address, app="shop") as transport:
        for task in "ab":
            await transport.publish(QUEUE, [request(task)])
        taken = [*await transport.take(QUEUE, 1, 1.5), *await transport.take(QUEUE, 1, 1.5)]
        entity = namespace.entities["stepward.shop.agents.payments"]
        lost, held = entity.messages
        entity.unlock(lost, lost.token)
        until = held.locked_until
        await transport.extend(QUEUE, taken, 1.5)
        assert held.locked_until > until


async def test_a_lock_shorter_than_the_lease_is_refused(brief: tuple[str, Namespace]) -> None:
    address, namespace = brief
    async with brokered(address, app="shop") as transport:
        await transport.publish(QUEUE, [request("a")])
        expected = r"expected locks of at least 10 s, the lease, at stepward\.shop\.agents\.payments, found [12] s; set"
        with pytest.raises(QueueRefused, match=expected):
            await tasks(transport, QUEUE)
        await asyncio.sleep(0.5)
        # It is not delivered again and again, until the broker moves it to its dead letters.
        assert [each.deliveries for each in namespace.entities["stepward.shop.agents.payments"].messages] == [1]
        with pytest.raises(
            QueueRefused, match=r"expected locks of at least 10 s, the lease, at stepward\.shop\.replies"
        ):
            await tasks(transport, "replies.scheduler-1")


async def test_a_schedulers_session_stays_its_own_while_nothing_comes(brief: tuple[str, Namespace]) -> None:
    address, namespace = brief
    async with brokered(address, app="shop") as transport:
        taking = asyncio.ensure_future(tasks(transport, "replies.scheduler-1", 1.0))
        await asyncio.sleep(3.0)
        assert "scheduler-1" in namespace.entities["stepward.shop.replies"].locks
        await transport.publish("replies.scheduler-1", [reply("a")])
        assert await taking == ["a"]


async def test_a_second_reader_waits_for_the_end_of_the_first(bus: tuple[str, Namespace]) -> None:
    address, _ = bus
    first, second = app_queues(address, "shop"), app_queues(address, "shop")
    await first.put(WEB, [(b"1", None)])
    async with asyncio.timeout(BOUND):
        assert [each.body for each in await first.read(WEB, 0, 9)] == [b"1"]
        waiting = asyncio.ensure_future(second.read(WEB, 0, 9))
        await asyncio.wait({waiting}, timeout=0.3)
        assert not waiting.done()
        await first.close()
        assert [each.body for each in await waiting] == [b"1"]
    await second.close()


async def test_messages_of_a_lost_connection_come_again_over_the_next(bus: tuple[str, Namespace]) -> None:
    address, namespace = bus
    events = Heard()
    async with brokered(address, app="shop", events=events) as transport:
        await transport.publish("replies.scheduler-1", [reply("a")])
        assert await tasks(transport, "replies.scheduler-1") == ["a"]
        for peer in tuple(namespace.peers):
            peer.cut()
        await events.of("transport.connected")
        assert await tasks(transport, "replies.scheduler-1") == ["a"]


async def test_a_submission_that_always_returns_is_no_dead_letter_of_the_broker(bus: tuple[str, Namespace]) -> None:
    address, namespace = bus
    queues = app_queues(address, "shop")
    await queues.put(ORDERS, [(b"poison", None)])
    for tries in (1, 2, 3):
        async with asyncio.timeout(BOUND):
            (message,) = await queues.take(ORDERS, 9, 0.3)
        assert message.tries == tries
    assert namespace.entities["stepward.shop.submissions.orders"].dead == []
    await queues.close()


# ---------------------------------------------------------------- refusals


async def test_a_wrong_key_is_one_line(bus: tuple[str, Namespace]) -> None:
    address = bus[0].replace("canary%2B", "wrong")
    with pytest.raises(QueueRefused, match=r"put-token at \$cbs: InvalidSignature \(amqp:unauthorized") as refused:
        await opened(address, app="shop")
    assert "wrong" not in str(refused.value) and "\n" not in str(refused.value)


async def test_a_missing_right_is_named(bus: tuple[str, Namespace]) -> None:
    with pytest.raises(QueueRefused, match=r"'Listen' claim\(s\) are required .* 'stepward\.shop\.replies'"):
        await opened(bus[0].replace("//root:", "//sender:"), app="shop")


async def test_a_missing_queue_is_named(bus: tuple[str, Namespace]) -> None:
    async with brokered(bus[0], app="shop") as transport:
        with pytest.raises(QueueRefused, match=r"entity 'stepward\.shop\.agents\.missing' could not be found"):
            await transport.publish("agents.missing", [request("a")])


async def test_a_queue_without_the_sessions_it_needs_is_refused() -> None:
    client_of_amqp10()
    async with double.service_bus(double.without_sessions) as (address, _):
        with pytest.raises(QueueRefused, match="requires sessions"):
            await opened(address, app="shop")


async def test_another_store_is_refused_the_applications_name(bus: tuple[str, Namespace]) -> None:
    address, _ = bus
    async with brokered(address, app="shop"):
        other = Signer(StoreIdentity("another", bytes(range(32))))
        with pytest.raises(
            SettingsError, match=r"of the store 'another' at Azure Service Bus .*, found the store '5d0c"
        ):
            await opened(address, app="shop", signer=other)


async def test_a_message_over_the_queues_limit_fails_its_step_with_the_reason(bus: tuple[str, Namespace]) -> None:
    async with brokered(bus[0], app="shop") as transport:
        await transport.publish(QUEUE, [request("small")])
        await transport.publish(QUEUE, [request("large", input=b'"' + b"x" * 300_000 + b'"')])
        async with asyncio.timeout(BOUND):
            (answer,) = await transport.take("replies.scheduler-1", 10, 10.0)
        assert b"over Azure Service Bus" in (getattr(answer.message, "error", b"") or b"")


@pytest.mark.parametrize(
    "address",
    ["sb://", "sb://policy@shop", "sb://:key@shop", "sb://policy:key@shop/queue", "sb://policy:key@shop?replicas=3"],
)
async def test_an_address_that_names_no_namespace_or_half_a_login_is_refused(address: str) -> None:
    client_of_amqp10()
    with pytest.raises(SettingsError, match=r"expected sb://POLICY:KEY@NAMESPACE") as refused:
        await opened(address, app="shop")
    assert "key@" not in str(refused.value)


# ---------------------------------------------------------------- tokens


def test_a_signature_is_as_documented() -> None:
    text = signature("sb://shop.servicebus.windows.net/orders", "root", "secret", 1_700_000_000)
    assert text == (
        "SharedAccessSignature sr=sb%3A%2F%2Fshop.servicebus.windows.net%2Forders"
        "&sig="
        + double.signed("sb%3A%2F%2Fshop.servicebus.windows.net%2Forders\n1700000000", "secret")
        + "&se=1700000000&skn=root"
    )


async def test_an_identity_of_entra_is_put_as_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    client_of_amqp10()
    identities = {double.ENTRA_TOKEN: ALL}
    async with double.service_bus(identities=identities) as (address, _), double.managed_identity(monkeypatch) as asked:
        host = address.rpartition("@")[2]
        async with brokered(f"sb://{host}", app="shop") as transport:
            await transport.publish(QUEUE, [request("a")])
            assert await tasks(transport, QUEUE) == ["a"]
        assert asked and all("servicebus.azure.net" in each for each in asked)


async def test_a_process_without_an_identity_is_one_line(
    bus: tuple[str, Namespace], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "EnvironmentCredential")
    host = bus[0].rpartition("@")[2]
    with pytest.raises(TransportError, match=r"expected a token of Microsoft Entra .*, found: .*nvironment") as refused:
        await opened(f"sb://{host}", app="shop")
    assert "\n" not in str(refused.value)


async def test_an_identity_that_does_not_answer_is_asked_in_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    client_of_amqp10()
    identity, go, asked = EntraIdentity(), threading.Event(), list[int]()

    def get() -> SimpleNamespace:
        asked.append(1)
        go.wait(BOUND)
        return SimpleNamespace(token="text", expires_on=2_000_000_000)

    monkeypatch.setattr(identity, "_get", get)
    for _ in range(3):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await identity.token("sb://shop")
    go.set()
    assert (await identity.token("sb://shop")).text == "text"
    assert len(asked) == 1


# ---------------------------------------------------------------- TLS


async def test_over_tls_the_servers_certificate_is_verified(tmp_path: Path) -> None:
    client_of_amqp10()
    authority = Authority(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*authority.sign("server"))
    async with double.service_bus(tls=context) as (address, _):
        port = int(address.rpartition(":")[2])
        login, trusting = Login("test", "127.0.0.1"), TlsFiles(ca=str(authority.certificate)).context()
        line = await AmqpConnection.connect("127.0.0.1", port, login, tls=trusting, on_lost=lambda _: None)
        assert line.product == "double"
        await line.close()
        with pytest.raises(TransportError, match="TLS: the server's certificate is not accepted"):
            await opened(f"amqp10s://127.0.0.1:{port}", app="shop")
