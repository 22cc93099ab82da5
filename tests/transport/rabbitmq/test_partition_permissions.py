"""The permissions that docs/partitions.md gives to users of a RabbitMQ server: enough, and no more than that."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import aio_pika
import pytest
from aio_pika.abc import AbstractChannel
from aiormq.exceptions import ChannelAccessRefused

from servers import rabbitmq
from tests.transport.partitioned_shop import PartitionedShop
from tests.transport.rabbitmq.documented import PARTITIONED

pytestmark = pytest.mark.servers


def at(server: rabbitmq.RabbitServer, user: str) -> str:
    """In the virtual host in which the users have the rights of that page."""
    return f"{server.address.replace('guest:guest', f'{user}:{user}')}{PARTITIONED}"


async def test_the_documented_users_do_their_part_in_two_partitions(
    server: rabbitmq.RabbitServer, tmp_path: Path
) -> None:
    await PartitionedShop(partial(at, server), at(server, "guest"), tmp_path).works()
    for act in refused_acts():
        connection = await aio_pika.connect(at(server, "payments"))
        async with connection:
            with pytest.raises(ChannelAccessRefused):
                await act(await connection.channel())


def refused_acts() -> list[Callable[[AbstractChannel], Awaitable[object]]]:
    """What the user of the payments Agent may not do."""

    async def fill(channel: AbstractChannel, exchange: str, key: str) -> None:
        named = await channel.get_exchange(exchange, ensure=False) if exchange else channel.default_exchange
        await named.publish(aio_pika.Message(b"[]"), key)

    return [
        *[
            partial(fill, exchange=f"stepward.shop.{partition}.queues", key=key)
            for partition in ("p1", "p2")
            for key in ("agents.mail", "submissions.orders")
        ],
        partial(fill, exchange="", key="stepward.shop.p2.agents.payments"),
        partial(fill, exchange="stepward.shop.p2.told", key=""),
        lambda channel: channel.queue_delete("stepward.shop.p2.agents.payments"),
        lambda channel: channel.queue_delete("stepward.shop.submissions.p2.orders"),
        lambda channel: channel.exchange_delete("stepward.shop.p2.queues"),
    ]
