"""NATS servers that die, sleep and forget under an application at work."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import nats
import pytest
from nats.js import JetStreamContext
from nats.js.api import DiscardPolicy, RetentionPolicy, StreamConfig

from servers.nats import NatsCluster, NatsNode
from tests.crash.scene import until
from tests.faults.losses import WELL_BEFORE, lost_while_they_stand
from tests.faults.world import World

pytestmark = pytest.mark.faults


@asynccontextmanager
async def at_work(folder: Path, address: str, *, complete_by: float) -> AsyncIterator[World]:
    """A Scheduler, two processes' worth of Agents, a Supervisor."""
    async with World(folder, address, complete_by=complete_by) as world:
        for role in ("scheduler", "supervisor", "agent", "agent"):
            await world.start(role)
        yield world


@asynccontextmanager
async def beside(address: str) -> AsyncIterator[JetStreamContext]:
    """A connection of an operator."""
    connection = await nats.connect(address)
    try:
        yield connection.jetstream()
    finally:
        await connection.close()


async def test_what_starts_while_the_server_is_down_is_asked_for_when_it_is_back(
    own_node: NatsNode, tmp_path: Path
) -> None:
    """Rows 25, 32: the Scheduler turns on meanwhile, and no attempt is lost with the wait."""
    async with at_work(tmp_path, own_node.address, complete_by=60.0) as world:
        await world.submit("order", 2)
        await world.settled()
        await asyncio.to_thread(own_node.kill)
        ids = await world.submit("order", 20)
        await until(lambda: _are_refused(world))
        assert await world.open() == len(ids)
        await asyncio.to_thread(own_node.start)
        await world.settled(within=WELL_BEFORE)
        assert [await world.attempts(id) for id in ids] == [[1, 1, 1, 1]] * len(ids)


async def test_a_server_that_crashes_under_load_costs_time_alone(own_node: NatsNode, tmp_path: Path) -> None:
    """Row 25."""
    async with at_work(tmp_path, own_node.address, complete_by=3.0) as world:
        async with world.load():
            assert await world.open() > 0
            await asyncio.to_thread(own_node.kill)
            await asyncio.to_thread(own_node.start)
            await world.effects(10)
        await world.settled()


async def test_a_server_that_lost_everything_gets_the_requests_again(own_node: NatsNode, tmp_path: Path) -> None:
    """Row 27: lost requests are sent again long before any complete-by."""
    await lost_while_they_stand(tmp_path, own_node.address, lambda _: asyncio.to_thread(own_node.wipe))


async def test_a_stream_that_was_deleted_is_filled_again(node: str, tmp_path: Path) -> None:
    """Row 27."""
    async with beside(node) as operator:
        await lost_while_they_stand(tmp_path, node, lambda world: operator.delete_stream(f"STEPWARD_{world.name}"))


async def test_a_stream_that_was_purged_costs_an_attempt(node: str, tmp_path: Path) -> None:
    """Rows 22, 27: no process is notified of the loss, so that the complete-by counts."""
    async with at_work(tmp_path, node, complete_by=1.5) as world, beside(node) as operator:
        async with world.load():
            assert await world.open() > 0
            for _ in range(3):
                assert await operator.purge_stream(f"STEPWARD_{world.name}")
                await world.effects(5)
        await world.settled()


async def test_consumers_that_were_deleted_are_made_again(node: str, tmp_path: Path) -> None:
    """Row 28: what they had given out comes again, and is done once."""
    async with at_work(tmp_path, node, complete_by=60.0) as world, beside(node) as operator:
        async with world.load():
            assert await world.open() > 0
            names = [consumer.name for consumer in await operator.consumers_info(f"STEPWARD_{world.name}")]
            assert len(names) == 2
            for name in names:
                assert await operator.delete_consumer(f"STEPWARD_{world.name}", name)
            await world.effects(10)
        await world.settled(within=WELL_BEFORE)


async def test_a_queue_that_takes_no_more_lets_steps_wait(
    node: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Row 32: what is refused waits with the Scheduler, no more than Agents have room for, and is asked for again."""
    monkeypatch.setattr("stepward.transport.nats.requests_and_replies.request_stream.PATIENCE_SECONDS", 0.0)
    room, slow = 16, 2
    async with World(tmp_path, node, complete_by=60.0) as world, beside(node) as operator:
        name = f"STEPWARD_{world.name}"
        subjects = [f"stepward.{world.name}.queue.>"]
        await operator.add_stream(
            StreamConfig(
                name=name,
                subjects=subjects,
                retention=RetentionPolicy.WORK_QUEUE,
                discard=DiscardPolicy.NEW,
                max_msgs_per_subject=2,
                discard_new_per_subject=True,
                allow_msg_ttl=True,
            )
        )
        await world.start("scheduler", "supervisor")
        await world.start("agent", concurrency=room - slow)
        await world.start("agent", concurrency=slow)
        ids = await world.submit("slow wait:0.05", 60)
        await world.settled()
        refused = world.told("scheduler.publish_failed")
        assert refused
        assert max(each["requests"] for each in refused) <= room
        assert [await world.attempts(id) for id in ids] == [[1, 1]] * len(ids)


@pytest.mark.timeout(180)
async def test_each_node_of_a_cluster_may_die_and_sleep(cluster: NatsCluster, tmp_path: Path) -> None:
    """Row 26: each is killed in turn, and one stands still; the others go on."""
    async with at_work(tmp_path, cluster.address, complete_by=5.0) as world:
        async with world.load():
            for node in cluster.nodes:
                assert await world.open() > 0
                await asyncio.to_thread(node.kill)
                await world.effects(10)
                await asyncio.to_thread(node.start)
                await asyncio.to_thread(cluster.await_whole)
            cluster.nodes[0].pause()
            try:
                await world.effects(10)
            finally:
                cluster.nodes[0].resume()
        await world.settled()


async def _are_refused(world: World) -> bool:
    return len(world.told("scheduler.publish_failed")) >= 3
