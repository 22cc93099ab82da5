"""Submissions and status events that are sent again stand once in the streams of a real NATS server."""

from __future__ import annotations

import asyncio

import pytest

from stepward.clock import Environment
from stepward.events import Observers
from stepward.transport.open_broker import broker_queues
from stepward.transport.queues.broker_queues import BrokerQueues

pytestmark = pytest.mark.servers


def _queues(address: str, app: str) -> BrokerQueues:
    now = asyncio.get_running_loop().time
    return broker_queues(address, app=app, now=now, environment=Environment(), observers=Observers(), bury=None)


@pytest.mark.parametrize("kind", ["submissions", "replies"])
async def test_a_message_that_comes_again_under_its_id_stands_once(address: str, app: str, kind: str) -> None:
    queue, queues = f"{kind}.{app}.orders", _queues(address, app)
    for body, ident in ((b"1", "one"), (b"1", "one"), (b"2", "two")):
        await queues.carry(queue, body, ident)
    found: list[bytes] = []
    token = 0
    async with asyncio.timeout(30):
        while b"2" not in found:
            given = await (queues.take(queue, 9, 10.0) if kind == "submissions" else queues.read(queue, token, 9))
            found += [each.body for each in given]
            token = given[-1].token
    assert found == [b"1", b"2"]
    await queues.close()
