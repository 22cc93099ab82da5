"""How much an application takes of a NATS server, and what one queue of it may take."""

from __future__ import annotations

import asyncio
from pathlib import Path

import nats as client
import pytest
from nats.js import JetStreamContext

from servers import nats
from stepward import Queues
from stepward.errors import QueueRefused
from stepward.transport.contract import Transport
from tests.transport.brokers import brokered
from tests.transport.messages import reply, request
from tests.transport.refused import application, pay

pytestmark = pytest.mark.servers


async def test_an_application_sets_no_room_aside(tmp_path: Path) -> None:
    with nats.running(room="64MB") as node:
        shop = application("shop", node.address, tmp_path)
        async with shop.running(), shop.client() as tasks, Queues(node.address, app="shop"):
            assert await (await tasks.submit(pay, "o1")).result(timeout="20s") == "charge-o1"
        connection = await client.connect(node.address)
        try:
            account = await connection.jetstream().account_info()
            assert {stream.config.max_bytes for stream in await connection.jetstream().streams_info()} == {-1}
            assert account.streams == 4
        finally:
            await connection.close()


async def test_a_full_queue_blocks_no_other(
    address: str, app: str, stream: JetStreamContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stepward.transport.nats.requests_and_replies.request_stream.MOST_MESSAGES", 2)
    async with brokered(address, app=app) as transport:
        for number in range(2):
            await transport.publish("agents.payments", [request(f"o{number}")])
        with pytest.raises(QueueRefused, match="maximum messages per subject exceeded"):
            await transport.publish("agents.payments", [request("o2")])
        await transport.publish("agents.mail", [request("o2")])
        await transport.publish("replies.me", [reply("o2")])
        await transport.settle("agents.payments", await transport.take("agents.payments", 1, 10.0))
        async with asyncio.timeout(30):
            while not await is_published(transport):  # noqa: ASYNC110 - the server handles acknowledgements by itself
                await asyncio.sleep(0.01)


async def is_published(transport: Transport) -> bool:
    try:
        await transport.publish("agents.payments", [request("o2")])
    except QueueRefused:
        return False
    return True
