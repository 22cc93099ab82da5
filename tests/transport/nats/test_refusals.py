"""What a NATS server refuses is an alert that names the queue and the reason."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from nats.js import JetStreamContext
from nats.js.api import DiscardPolicy, RetentionPolicy, StreamConfig

from servers import nats
from stepward import Queues
from stepward.errors import QueueRefused
from tests.transport.brokers import opened
from tests.transport.messages import request
from tests.transport.refused import alert, application, no_alert, pay, write

pytestmark = pytest.mark.servers


def config(app: str, **given: object) -> StreamConfig:
    return StreamConfig(
        name=f"STEPWARD_{app}",
        subjects=[f"stepward.{app}.queue.>"],
        retention=RetentionPolicy.WORK_QUEUE,
        discard=DiscardPolicy.NEW,
        **given,  # type: ignore[arg-type]
    )


async def test_a_stream_without_ttl_is_an_alert_that_ends_when_the_stream_has_it(
    address: str, app: str, stream: JetStreamContext, tmp_path: Path
) -> None:
    await stream.add_stream(config(app))
    shop = application(app, address, tmp_path)
    async with shop.running(), shop.client() as client:
        task = await client.submit(pay, "o1")
        found = await alert(client, "agents.payments")
        assert "expected NATS to take its messages" in found.message
        assert "per-message TTL is disabled" in found.message
        await stream.update_stream(config(app, allow_msg_ttl=True))
        assert await task.result(timeout="20s") == "charge-o1"
        await no_alert(client)


async def test_a_full_stream_is_a_refusal_at_once(address: str, app: str, stream: JetStreamContext) -> None:
    await stream.add_stream(config(app, allow_msg_ttl=True, max_msgs=1))
    transport = await opened(address, app=app)
    try:
        await transport.publish("agents.payments", [request("o1")])
        began_at = asyncio.get_running_loop().time()
        with pytest.raises(QueueRefused, match=r"queue agents.payments: .*found: maximum messages exceeded"):
            await transport.publish("agents.payments", [request("o2")])
        assert asyncio.get_running_loop().time() - began_at < 1
    finally:
        await transport.close()


async def test_an_application_that_posts_to_a_full_stream_is_refused(
    address: str, app: str, stream: JetStreamContext
) -> None:
    name, subjects = f"STEPWARD_{app}+submissions", [f"stepward.{app}.submissions.*"]
    await stream.add_stream(StreamConfig(name=name, subjects=subjects, discard=DiscardPolicy.NEW, max_msgs=1))
    async with Queues(address, app=app) as queues:
        await queues.post("orders", {"cents": 1}, id="o1")
        with pytest.raises(QueueRefused, match="found: maximum messages exceeded"):
            await queues.post("orders", {"cents": 1}, id="o2")


USERS = """
authorization { users: [
  { user: shop, password: secret, permissions: { publish: { deny: ["stepward.shop.queue.agents.payments"] } } }
] }
"""


@pytest.fixture
def guarded() -> Iterator[nats.NatsNode]:
    with nats.running(users=USERS) as node:
        yield node


@pytest.mark.faults
async def test_a_publish_without_permission_is_an_alert_and_stops_no_other_queue(
    guarded: nats.NatsNode, tmp_path: Path
) -> None:
    shop = application("shop", guarded.address.replace("nats://", "nats://shop:secret@"), tmp_path)
    async with shop.running(), shop.client() as client:
        await client.submit(pay, "o1")
        written = await client.submit(write, "o2")
        assert await written.result(timeout="20s") == "sent-o2"
        found = await alert(client, "agents.payments")
        assert 'permissions violation for publish to "stepward.shop.queue.agents.payments"' in found.message


NO_TAKING = """
authorization { users: [
  { user: shop, password: secret, permissions: { publish: { deny: ["$JS.API.CONSUMER.MSG.NEXT.>"] } } }
] }
"""


@pytest.mark.faults
async def test_a_queue_that_may_not_be_taken_from_is_an_alert(tmp_path: Path) -> None:
    with nats.running(users=NO_TAKING) as node:
        shop = application("shop", node.address.replace("nats://", "nats://shop:secret@"), tmp_path)
        async with shop.running(), shop.client() as client:
            found = await alert(client, "agents.payments")
            assert "permissions violation for publish to" in found.message
