"""A reader that waits for another one, and a submission that its taker forgot, at a real RabbitMQ server."""

from __future__ import annotations

import asyncio

import pytest

from stepward.clock import Environment
from stepward.events import Observers
from stepward.transport.open_broker import broker_queues
from stepward.transport.queues.broker_queues import BrokerQueues
from tests.programs import program
from tests.transport.brokers import SERVERS, new_app

pytestmark = pytest.mark.servers


@pytest.fixture
async def address() -> str:
    program("rabbitmq-server", "rabbitmq-server")
    return await asyncio.to_thread(SERVERS.rabbitmq)


def _queues(address: str, app: str) -> BrokerQueues:
    now = asyncio.get_running_loop().time
    return broker_queues(address, app=app, now=now, environment=Environment(), observers=Observers(), bury=None)


async def test_a_reader_that_comes_beside_another_is_given_nothing_until_that_one_goes(address: str) -> None:
    app = new_app()
    queue, one, other = f"replies.{app}.web", _queues(address, app), _queues(address, app)
    await one.put(queue, [(b"1", None)])
    (first,) = await one.read(queue, 0, 9)
    following = asyncio.create_task(other.read(queue, 0, 9))
    await one.put(queue, [(b"%d" % number, None) for number in range(2, 20)])
    found, token = [first.body], first.token
    async with asyncio.timeout(30):
        while len(found) < 19:
            given = await one.read(queue, token, 9)
            found, token = [*found, *(each.body for each in given)], given[-1].token
        assert found == [b"%d" % number for number in range(1, 20)]
        assert not following.done()
        await one.close()
        (again, *_) = await following
    assert again.body == b"1"
    await other.close()


async def test_a_submission_that_its_taker_forgot_goes_to_another(address: str) -> None:
    app = new_app()
    queue, one, other = f"submissions.{app}.orders", _queues(address, app), _queues(address, app)
    await one.put(queue, [(b"1", None)])
    await one.take(queue, 1, 1.0)
    async with asyncio.timeout(20):
        (again,) = await other.take(queue, 1, 10.0)
    assert (again.body, again.tries) == (b"1", 2)
    await one.close()
    await other.close()
