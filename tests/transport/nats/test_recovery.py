"""Servers that die, sleep, forget or are not there: it costs time, and nothing that was taken in is lost."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Any

import nats as client
import pytest

from servers import nats
from servers.ports import free_port
from stepward.errors import TransportError
from stepward.transport.contract import Delivery, Transport
from tests.transport.brokers import Heard, brokered, opened
from tests.transport.messages import request

pytestmark = pytest.mark.faults

QUEUE = "agents.payments"
LEASE = 1.0
BOUND = 120.0


async def until_taken(transport: Transport, wanted: set[str]) -> set[str]:
    """As an Agent does: take until all have come, and try again what fails; all that came."""
    came = set[str]()
    async with asyncio.timeout(BOUND):
        while wanted:
            try:
                found = await transport.take(QUEUE, 100, LEASE)
                await transport.settle(QUEUE, found)
            except TransportError:
                await asyncio.sleep(0.05)
                continue
            came |= {delivery.message.task for delivery in found}
            wanted -= came
    return came


async def until_published(transport: Transport, task: str) -> int:
    """Publish until it is taken; how often it was refused."""
    async with asyncio.timeout(BOUND):
        for refused in range(1_000):
            try:
                await transport.publish(QUEUE, [request(task)])
            except TransportError:
                await asyncio.sleep(0.05)
                continue
            return refused
    raise AssertionError("never taken")


async def test_an_unreachable_server_is_one_error_line() -> None:
    with pytest.raises(TransportError, match=r"expected NATS at 127\.0\.0\.1:\d+ to answer, found: .*refused") as told:
        await opened(f"nats://127.0.0.1:{free_port()}", app="shop")
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("dead", [1, 2, 3])
async def test_servers_that_are_down_are_passed_over(address: str, app: str, dead: int) -> None:
    hosts = ",".join(f"127.0.0.1:{free_port()}" for _ in range(dead))
    async with brokered(f"nats://{hosts},{address.removeprefix('nats://')}", app=app) as transport:
        await transport.publish(QUEUE, [request("a")])


async def test_a_silent_port_is_one_error_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(TransportError, match="found: no answer"):
            await opened(f"nats://127.0.0.1:{port}", app="shop")


async def test_published_messages_survive_a_crash(node: nats.NatsNode) -> None:
    async with brokered(node.address, app="shop") as transport:
        await transport.publish(QUEUE, [request("a")])
        (first,) = await transport.take(QUEUE, 1, 30)
        assert isinstance(first, Delivery)
        # Over a message of its own, so that no consumer has it yet.
        await transport.publish(QUEUE, [request("b")])
        await asyncio.to_thread(node.kill)
        await asyncio.to_thread(node.start)
        await until_published(transport, "c")
        assert await until_taken(transport, {"c"}) >= {"b", "c"}


async def test_a_waiting_take_is_served_after_a_crash(node: nats.NatsNode) -> None:
    events = Heard()
    async with brokered(node.address, app="shop", events=events) as transport:
        taking = asyncio.create_task(until_taken(transport, {"a"}))
        await transport.publish(QUEUE, [request("0")])
        await asyncio.to_thread(node.kill)
        with pytest.raises(TransportError, match=r"expected NATS at 127.0.0.1:\d+ to (answer|do its part)"):
            await transport.publish(QUEUE, [request("a")])
        await asyncio.to_thread(node.start)
        await until_published(transport, "a")
        await taking
    # What the server had not synced yet may be lost, too, and is published again then.
    told = {"transport.lost", "transport.connected"}
    assert [event.name for event in events if event.name in told] == ["transport.lost", "transport.connected"]


@pytest.mark.parametrize("verb", ["publish", "take", "settle", "extend", "revoke", "adopt"])
async def test_a_server_that_is_down_fails_every_verb_soon_and_in_one_line(node: nats.NatsNode, verb: str) -> None:
    events = Heard()
    async with brokered(node.address, app="shop", events=events) as transport:
        await transport.publish(QUEUE, [request("a")])
        taken = await transport.take(QUEUE, 1, 30)
        await asyncio.to_thread(node.kill)
        await events.of("transport.lost")
        calls: dict[str, Any] = {
            "publish": lambda: transport.publish(QUEUE, [request("b")]),
            "take": lambda: transport.take(QUEUE, 1, 30),
            "settle": lambda: transport.settle(QUEUE, taken),
            "extend": lambda: transport.extend(QUEUE, taken, 30),
            "revoke": lambda: transport.revoke(QUEUE, "a", 1, "x"),
            "adopt": lambda: transport.adopt(["replies.dead"], "replies.heir"),
        }
        async with asyncio.timeout(10):
            with pytest.raises(TransportError, match="expected NATS at") as told:
                await calls[verb]()
        assert "\n" not in str(told.value)


async def test_a_stream_that_was_wiped_is_made_again(node: nats.NatsNode) -> None:
    """Its places count from 1 again: what comes is not mistaken for what was settled before."""
    async with brokered(node.address, app="shop") as transport:
        await transport.publish(QUEUE, [request("a")])
        await until_taken(transport, {"a"})
        taking = asyncio.create_task(until_taken(transport, {"b"}))
        await asyncio.to_thread(node.wipe)
        await until_published(transport, "b")
        await taking


async def test_a_stream_that_was_deleted_is_made_again(address: str, app: str) -> None:
    lost: list[str | None] = []
    async with brokered(address, app=app) as transport:
        transport.on_lost(lost.append)
        await transport.publish(QUEUE, [request("0")])
        await until_taken(transport, {"0"})
        taking = asyncio.create_task(until_taken(transport, {"b"}))
        connection = await client.connect(address)
        await connection.jetstream().delete_stream(f"STEPWARD_{app}")
        await connection.close()
        assert await until_published(transport, "a") == 0
        await until_published(transport, "b")
        assert await taking == {"a", "b"}, "places count from 1 again, and are no doubles of those before"
    assert lost == [None], "so that all that is out and unanswered is sent again"


async def test_a_server_that_sleeps_is_given_up_and_found_again(node: nats.NatsNode) -> None:
    async with brokered(node.address, app="shop") as transport:
        node.pause()
        try:
            async with asyncio.timeout(BOUND):
                with pytest.raises(TransportError, match="found: no answer"):
                    await transport.publish(QUEUE, [request("a")])
        finally:
            node.resume()
        await until_published(transport, "a")
        await until_taken(transport, {"a"})


@pytest.fixture
async def cluster() -> AsyncIterator[nats.NatsCluster]:
    with nats.clustered() as cluster:
        yield cluster


async def test_each_node_of_a_cluster_may_be_lost(cluster: nats.NatsCluster) -> None:
    async with brokered(cluster.address, app="shop") as transport:
        for number, node in enumerate(cluster.nodes):
            before, after = f"before-{number}", f"after-{number}"
            await until_published(transport, before)
            await asyncio.to_thread(node.kill)
            await until_published(transport, after)
            await until_taken(transport, {before, after})
            await asyncio.to_thread(node.start)


async def test_a_sleeping_node_of_a_cluster_costs_time_alone(cluster: nats.NatsCluster) -> None:
    async with brokered(cluster.address, app="shop") as transport:
        await until_published(transport, "before")
        # The first of the address is the one that is connected to.
        cluster.nodes[0].pause()
        try:
            await until_published(transport, "after")
            await until_taken(transport, {"before", "after"})
        finally:
            cluster.nodes[0].resume()
