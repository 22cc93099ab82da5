"""RabbitMQ that stops, dies, forgets and loses queues under an application at work."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aio_pika
import pytest

from servers.rabbitmq import RabbitServer
from tests.faults.losses import lost_while_they_stand
from tests.faults.world import World

pytestmark = [pytest.mark.faults, pytest.mark.timeout(180)]


async def test_a_queue_that_was_deleted_is_filled_again(rabbit: RabbitServer, tmp_path: Path) -> None:
    """Row 27: lost requests are sent again long before any complete-by."""

    async def delete(world: World) -> None:
        connection = await aio_pika.connect(rabbit.address)
        await (await connection.channel()).queue_delete(f"stepward.{world.name}.agents.bank")
        await connection.close()

    world = await lost_while_they_stand(tmp_path, rabbit.address, delete)
    assert {each["queue"] for each in world.told("transport.messages_lost")} == {"agents.bank"}


async def test_a_server_that_crashes_under_load_costs_time_alone(rabbit: RabbitServer, tmp_path: Path) -> None:
    """Rows 25, 32."""
    async with World(tmp_path, rabbit.address, complete_by=3.0) as world:
        for role in ("scheduler", "supervisor", "agent", "agent"):
            await world.start(role)
        async with world.load():
            await asyncio.to_thread(rabbit.await_written, f"stepward.{world.name}.agents.bank")
            assert await world.open() > 0
            await asyncio.to_thread(rabbit.kill)
            await asyncio.to_thread(rabbit.start)
            await world.effects(10)
        await world.settled()


async def test_a_server_that_lost_everything_gets_the_requests_again(rabbit: RabbitServer, tmp_path: Path) -> None:
    """Row 27."""
    world = await lost_while_they_stand(tmp_path, rabbit.address, lambda _: asyncio.to_thread(rabbit.wipe))
    assert None in {each["queue"] for each in world.told("transport.messages_lost")}
