"""One who watches and reads no more, on a real server."""

from __future__ import annotations

import asyncio

import pytest

from servers.rabbitmq import RabbitServer
from stepward.clock import Environment
from stepward.events import Observers
from stepward.transport.open_broker import broker_queues
from stepward.transport.queues.broker_queues import BrokerQueues
from stepward.transport.queues.pushed_responses import MOST_HELD
from stepward.transport.rabbitmq.application.response_queue import RabbitReading
from tests.appqueues.shop import until
from tests.transport.brokers import new_app

pytestmark = [pytest.mark.faults, pytest.mark.timeout(300)]
MORE = 2 * MOST_HELD


def part_of(queues: BrokerQueues) -> RabbitReading:
    (part,) = queues._watched
    assert isinstance(part, RabbitReading)
    return part


async def is_watched(queues: BrokerQueues) -> bool:
    return bool(queues._watched) and part_of(queues)._tag is not None


async def test_unread_events_stay_at_the_broker(server: RabbitServer) -> None:
    app = new_app()
    queue, now = f"replies.{app}.web", asyncio.get_running_loop().time
    queues = broker_queues(
        server.address, app=app, now=now, environment=Environment(), observers=Observers(), bury=None
    )
    watching = queues.watch(queue)
    waiting = asyncio.create_task(watching.read(0, 1))
    await until(lambda: is_watched(queues))
    await queues.put(queue, [(b"0", None)])
    (last,) = await waiting
    await queues.put(queue, [(b"%d" % number, None) for number in range(1, MORE + 1)])
    found: list[bytes] = []
    async with asyncio.timeout(60):
        while len(found) < MORE:
            assert len(part_of(queues)._ledger.follows(0, 10 * MORE)) <= MOST_HELD
            given = await watching.read(last.token, 50)
            last = given[-1]
            found += [each.body for each in given]
    assert found == [b"%d" % number for number in range(1, MORE + 1)]
    await queues.close()
