"""What a broker still holds of an application."""

from __future__ import annotations

from collections.abc import Sequence

import aio_pika
import nats
from aio_pika.exceptions import ChannelNotFoundEntity
from nats.js.errors import NotFoundError

from stepward.model.messages.requests import reply_queue, request_queue


async def standing(address: str, app: str, instances: Sequence[str]) -> int:
    """How many broker messages are not settled (NATS) or not taken (RabbitMQ)."""
    if address.startswith("amqp"):
        return await _in_queues(address, app, [request_queue("bank"), *map(reply_queue, instances)])
    connection = await nats.connect(address.partition("?")[0].split(","))
    try:
        return (await connection.jetstream().stream_info(f"STEPWARD_{app}")).state.messages
    except NotFoundError:
        return 0
    finally:
        await connection.close()


async def _in_queues(address: str, app: str, queues: Sequence[str]) -> int:
    connection = await aio_pika.connect(address)
    count = 0
    try:
        for queue in queues:
            channel = await connection.channel()
            try:
                found = await channel.declare_queue(f"stepward.{app}.{queue}", passive=True)
            except ChannelNotFoundEntity:
                continue
            count += found.declaration_result.message_count or 0
    finally:
        await connection.close()
    return count
