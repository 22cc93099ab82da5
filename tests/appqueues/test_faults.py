"""A broker that dies, stands still or loses its data: what is promised of the queues is kept, and nothing is stuck."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import pytest

from servers import rabbitmq
from stepward import StatusEvent
from stepward.client import session_of
from stepward.errors import TransportError
from tests.appqueues import hurt
from tests.appqueues.hurt import Server
from tests.appqueues.shop import BOUND, Shop, of, told, until
from tests.programs import program

pytestmark = [pytest.mark.faults, pytest.mark.timeout(300)]


@pytest.fixture
def server(broker: str) -> Iterator[Server]:
    if broker == "rabbitmq":
        program("rabbitmq-server", "rabbitmq-server")
    with hurt.running(broker) as server:
        yield server


@pytest.fixture
async def shop(server: Server, tmp_path: Path) -> AsyncIterator[Shop]:
    shop = Shop(server.address, tmp_path)
    await shop.open()
    yield shop
    await shop.close()


async def post_in_the_end(shop: Shop, *ids: str) -> int:
    """Post as a storefront does that tries again; how often it was refused."""
    refused = 0
    async with asyncio.timeout(BOUND):
        for id in ids:
            while True:
                try:
                    await shop.post(id, reply_to=True)
                    break
                except TransportError as error:
                    assert "\n" not in str(error)
                    refused += 1
                    await asyncio.sleep(0.05)
    return refused


def in_order(events: Sequence[StatusEvent], ids: Sequence[str]) -> None:
    heard = defaultdict(list)
    for event in events:
        heard[event.subject].append(event.sequence)
    assert heard == {id: [1, 2, 3] for id in ids}


async def test_a_crash_of_the_broker_costs_time_alone(shop: Shop, server: Server) -> None:
    """The sender gets the refusal, the submission continues, events wait in the store, and the reader gets all."""
    await shop.run()
    reading = asyncio.create_task(told(shop.queues.events(shop.replies), 3))
    await shop.post("before", reply_to=True)
    await shop.has_placed("before")
    await asyncio.to_thread(server.kill)
    with pytest.raises(TransportError, match=r"expected (NATS|RabbitMQ) at") as refused:
        await shop.post("meanwhile", reply_to=True)
    assert "\n" not in str(refused.value)
    await shop.client.submit("fulfil", "tea", id="inside", reply_to=shop.replies)
    assert await shop.client.task("inside").result(timeout="30s") == "tea"
    await asyncio.to_thread(server.start)
    await post_in_the_end(shop, "after")
    async with asyncio.timeout(BOUND):
        in_order(await reading, ["before", "inside", "after"])
    assert await shop.placed() == ["before", "after"]


async def test_a_broker_that_stands_still_costs_time_alone(shop: Shop, server: Server) -> None:
    await shop.run()
    reading = asyncio.create_task(told(shop.queues.events(shop.replies), 3))
    await shop.post("before", reply_to=True)
    await asyncio.to_thread(server.pause)
    posting = asyncio.create_task(post_in_the_end(shop, "meanwhile"))
    await shop.client.submit("fulfil", "tea", id="inside", reply_to=shop.replies)
    await shop.events.of("transport.lost")
    await asyncio.to_thread(server.resume)
    await posting
    async with asyncio.timeout(BOUND):
        in_order(await reading, ["before", "inside", "meanwhile"])
    assert sorted(await shop.placed()) == ["before", "meanwhile"]


async def test_a_broker_that_lost_its_data_serves_what_comes_after(shop: Shop, server: Server) -> None:
    """What it had confirmed is lost with it, and what waits in the store is not."""
    await shop.run()
    events = shop.queues.events(shop.replies)
    await shop.post("before", reply_to=True)
    in_order(await told(events), ["before"])
    reading = asyncio.create_task(told(events, 2))
    await asyncio.to_thread(server.kill)
    await shop.client.submit("fulfil", "tea", id="inside", reply_to=shop.replies)
    assert await shop.client.task("inside").result(timeout="30s") == "tea"
    await asyncio.to_thread(server.wipe)
    await post_in_the_end(shop, "after")
    async with asyncio.timeout(BOUND):
        in_order(await reading, ["inside", "after"])
    assert sorted(await shop.placed()) == ["after", "before"]


async def test_confirmed_messages_survive_a_broker_crash(shop: Shop, server: Server) -> None:
    """No process takes or reads: orders and events stay there."""
    async with shop.app().running(submission=False):
        await shop.post("A-1", "A-2", reply_to=True)
        await shop.client.submit("fulfil", "tea", id="inside", reply_to=shop.replies)

        async def is_carried() -> bool:
            done = await shop.client.task("inside").status()
            messages = session_of(shop.client).store.messages
            return done.finished_at is not None and not await messages.nonempty("replies.", 9)

        await until(is_carried)
    await _written(shop, server)
    await asyncio.to_thread(server.kill)
    await asyncio.to_thread(server.start)
    await until(lambda: _is_reached(shop))
    await shop.run()
    in_order(await told(shop.queues.events(shop.replies), 3), ["inside", "A-1", "A-2"])
    assert await shop.placed() == ["A-1", "A-2"]


async def _written(shop: Shop, server: Server) -> None:
    """RabbitMQ knows of a queue after a crash only a moment after it was made."""
    if isinstance(server, rabbitmq.RabbitServer):
        for queue in ("submissions.orders", "responses.web"):
            await asyncio.to_thread(server.await_written, f"stepward.{shop.name}.{queue}")


async def _is_reached(shop: Shop) -> bool:
    try:
        await shop.put(b"?", to=f"submissions.{shop.name}.other")
    except TransportError:
        return False
    return True


async def test_an_outage_is_reported_once_for_each_queue(shop: Shop, server: Server) -> None:
    await shop.run()
    await shop.post("before", reply_to=True)
    await told(shop.queues.events(shop.replies))
    await asyncio.to_thread(server.kill)
    for number in range(5):
        await shop.client.submit("fulfil", "tea", id=f"t-{number}", reply_to=shop.replies)
        await shop.client.task(f"t-{number}").result(timeout="30s")

    async def are_told() -> bool:
        return {each["queue"] for each in of(shop.events, "events.unavailable")} == {
            shop.replies,
            f"letters.{shop.name}.store",
        }

    await until(are_told)
    assert await session_of(shop.client).store.messages.nonempty("replies.", 9) == [shop.replies]
    assert len(of(shop.events, "events.unavailable")) == 2
