"""What a RabbitMQ server refuses is an alert that names the queue and the reason, and drops no connection."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aio_pika
import pytest
from aio_pika.abc import AbstractChannel

from servers import rabbitmq
from stepward import Queues
from stepward.errors import QueueRefused
from stepward.host.queues import refused_queue_alerts
from stepward.transport.rabbitmq.application import declarations
from stepward.transport.rabbitmq.requests_and_replies import queue_declarations
from tests.programs import program
from tests.transport.brokers import SERVERS, Heard, brokered, new_app, opened
from tests.transport.messages import request
from tests.transport.refused import alert, application, no_alert, pay, write

pytestmark = pytest.mark.servers


@pytest.fixture
async def address() -> str:
    program("rabbitmq-server", "rabbitmq-server")
    return await asyncio.to_thread(SERVERS.rabbitmq)


@asynccontextmanager
async def beside(address: str) -> AsyncIterator[AbstractChannel]:
    """A channel of an operator."""
    async with await aio_pika.connect(address) as connection:
        yield await connection.channel()


async def test_a_queue_with_other_arguments_is_an_alert_and_drops_no_connection(address: str, tmp_path: Path) -> None:
    app, events = new_app(), Heard()
    name = f"stepward.{app}.agents.payments"
    async with beside(address) as operator:
        await operator.declare_queue(name, durable=True, arguments={"x-queue-type": "quorum"})
    shop = application(app, address, tmp_path)
    shop.observers.add(events.append)
    async with shop.running(), shop.client() as client:
        task = await client.submit(pay, "o1")
        written = [await client.submit(write, f"o{number}") for number in range(5)]
        assert [await each.result(timeout="20s") for each in written] == [f"sent-o{number}" for number in range(5)]
        found = await alert(client, "agents.payments")
        assert "inequivalent arg" in found.message
        assert name in found.message
        assert "transport.lost" not in {event.name for event in events}
        async with beside(address) as operator:
            await operator.queue_delete(name)
        assert await task.result(timeout="20s") == "charge-o1"
        await no_alert(client)


async def test_an_alert_of_a_process_that_is_gone_ends_when_the_queue_works_again(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refused_queue_alerts, "LOOK_SECONDS", 0.2)
    app = new_app()
    name = f"stepward.{app}.agents.payments"
    async with beside(address) as operator:
        await operator.declare_queue(name, durable=True, arguments={"x-queue-type": "quorum"})
    shop = application(app, address, tmp_path)
    async with shop.running(), shop.client() as client:
        await alert(client, "agents.payments")
    async with beside(address) as operator:
        await operator.queue_delete(name)
    async with application(app, address, tmp_path).running(), shop.client() as client:
        async with asyncio.timeout(30):
            while await client.alerts():
                assert await (await client.submit(pay, "o2")).result(timeout="20s") == "charge-o2"
                await asyncio.sleep(0.1)


async def test_a_full_queue_is_a_refusal_that_closes_nothing(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_declarations, "ARGUMENTS", queue_declarations.ARGUMENTS | {"x-max-length": 1})
    transport = await opened(address, app=new_app(), events=(events := Heard()))
    try:
        with pytest.raises(QueueRefused, match=r"queue agents.payments: .*found: it takes no more"):
            for number in range(5):
                await transport.publish("agents.payments", [request(f"o{number}")])
        await transport.publish("agents.mail", [request("o1")])
        assert [event.fields["queue"] for event in events if event.name == "transport.refused"] == ["agents.payments"]
    finally:
        await transport.close()


async def test_an_application_that_posts_to_a_full_queue_is_refused(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(declarations, "POSTED", declarations.POSTED | {"x-max-length": 1})
    monkeypatch.setattr("stepward.transport.rabbitmq.application.queue_backend.PATIENCE_SECONDS", 0.0)
    async with Queues(address, app=new_app()) as posting:
        with pytest.raises(QueueRefused, match="it takes no more"):
            for number in range(5):
                await posting.post("orders", {"cents": 1}, id=f"o{number}")


def definitions(password: str) -> str:
    """A user who may declare all queues but one."""
    salt = b"salt"
    hashed = base64.b64encode(salt + hashlib.sha256(salt + password.encode()).digest()).decode()
    user = {"name": "shop", "password_hash": hashed, "hashing_algorithm": "rabbit_password_hashing_sha256", "tags": ""}
    configure = r"^stepward\.(?!shop\.agents\.payments$).*"
    allowed = {"user": "shop", "vhost": "/", "configure": configure, "write": ".*", "read": ".*"}
    return json.dumps({"users": [user], "vhosts": [{"name": "/"}], "permissions": [allowed]})


@pytest.mark.faults
async def test_a_queue_without_permission_is_an_alert_and_stops_no_other_queue(tmp_path: Path) -> None:
    program("rabbitmq-server", "rabbitmq-server")
    given = {"definitions.json": definitions("secret")}
    with rabbitmq.running(settings="load_definitions = {folder}/definitions.json\n", files=given) as server:
        shop = application("shop", server.address.replace("guest:guest", "shop:secret"), tmp_path)
        events = Heard()
        shop.observers.add(events.append)
        async with shop.running(), shop.client() as client:
            await client.submit(pay, "o1")
            written = await client.submit(write, "o2")
            assert await written.result(timeout="20s") == "sent-o2"
            found = await alert(client, "agents.payments")
            # Its Agent may not make it, and its Scheduler finds none: either is first.
            assert re.search("ACCESS_REFUSED|NOT_FOUND", found.message)
            # Nor did the request go anywhere else.
            assert {"transport.lost", "transport.accepted"}.isdisjoint(event.name for event in events)


async def test_a_missing_exchange_is_a_refusal_and_is_made_again(address: str) -> None:
    app, events, heard = new_app(), Heard(), asyncio.Event()
    async with brokered(address, app=app, events=events) as one, beside(address) as operator:
        await operator.exchange_delete(f"stepward.{app}.told")
        await one.revoke("agents.payments", "a", 1, "x/1", 1)
        refused = await events.of("transport.refused")
        assert (refused.fields["queue"], "no exchange" in refused.fields["reason"]) == ("told", True)
        await events.of("transport.connected")
        async with brokered(address, app=app) as other:
            other.on_revoke("agents.payments", lambda *_: heard.set())
            await one.revoke("agents.payments", "a", 1, "x/1", 1)
            async with asyncio.timeout(30):
                await heard.wait()
        await events.of("transport.accepted")
