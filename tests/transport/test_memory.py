from __future__ import annotations

import asyncio

import pytest

from stepward.transport.memory.direct_queues import direct_queues
from stepward.transport.memory.memory_transport import MemoryTransport
from tests.transport.messages import reply, request

QUEUE = "agents.payments"


def opened() -> MemoryTransport:
    return MemoryTransport(asyncio.get_running_loop().time)


async def taken(transport: MemoryTransport, limit: int = 100) -> list[str]:
    return [delivery.message.task for delivery in await transport.take(QUEUE, limit, 30)]


async def test_higher_priority_comes_first_and_equals_in_order() -> None:
    transport = opened()
    priorities = {"a": 5, "b": 1, "c": 9, "d": 5, "e": 7, "f": 9}
    await transport.publish(QUEUE, [request(task, priority=level) for task, level in priorities.items()])
    assert await taken(transport, 3) == ["c", "f", "e"]
    await transport.publish(QUEUE, [request("g", priority=8), request("h", priority=5)])
    assert await taken(transport) == ["g", "a", "d", "h", "b"]


async def test_returned_messages_come_before_new_ones() -> None:
    transport = opened()
    await transport.publish(QUEUE, [request("a"), request("b")])
    await taken(transport)
    await transport.publish(QUEUE, [request("c")])
    await asyncio.sleep(31)
    assert await taken(transport) == ["a", "b", "c"]


async def test_a_late_settlement_does_not_take_the_new_delivery() -> None:
    transport = opened()
    await transport.publish(QUEUE, [request("a")])
    late = await transport.take(QUEUE, 1, 30)
    await asyncio.sleep(31)
    await taken(transport)
    await transport.settle(QUEUE, late)
    await asyncio.sleep(31)
    assert await taken(transport) == ["a"]


async def test_a_revocation_withdraws_the_request() -> None:
    transport = opened()
    await transport.publish(QUEUE, [request("a"), request("b"), request("a", run=2), reply("a")])
    await transport.revoke(QUEUE, "a", 1, "payments.charge/1")
    assert await taken(transport) == ["b", "a", "a"]


async def test_messages_pass_as_they_are() -> None:
    transport = opened()
    message = request()
    await transport.publish(QUEUE, [message])
    assert (await transport.take(QUEUE, 1, 30))[0].message is message


async def test_who_waits_is_woken_by_the_lease_that_ends_first() -> None:
    transport = opened()
    await transport.publish(QUEUE, [request("a")])
    await taken(transport)
    waiting = asyncio.create_task(transport.take(QUEUE, 1, 5))
    await asyncio.sleep(10)
    await transport.publish(QUEUE, [request("b")])
    await waiting
    began = asyncio.get_running_loop().time()
    assert await taken(transport, 1) == ["b"]
    assert asyncio.get_running_loop().time() - began == pytest.approx(5, abs=0.1)
    assert await taken(transport, 1) == ["a"]
    assert asyncio.get_running_loop().time() - began == pytest.approx(20, abs=0.1)


async def test_only_queues_whose_verbs_are_their_own_are_used_without_them() -> None:
    class Derived(MemoryTransport):
        """Does more in a verb."""

    transport = opened()
    assert direct_queues(transport) is transport.queues
    assert direct_queues(Derived(lambda: 0.0)) is None
