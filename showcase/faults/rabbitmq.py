"""RabbitMQ from the outside: a look at all that is published, which its servers copy for that."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import aio_pika
from aio_pika.exceptions import AMQPError

from showcase.faults.looking_on import looking_on
from showcase.faults.traffic import Traffic

COPIES = "amq.rabbitmq.trace"
PUBLISHED = "publish.#"
QUEUE = "orders-demo-looks-on"
FAULTS = (AMQPError, OSError, TimeoutError)
# Each failed connection attempt is logged, which is noise during a restart.
logging.getLogger("aiormq").addHandler(logging.NullHandler())


@asynccontextmanager
async def looking(address: str, traffic: Traffic) -> AsyncIterator[None]:
    """Have `traffic` note all that is published inside; what is copied while no one is connected waits."""
    async with looking_on(partial(_look, address, traffic), FAULTS):
        yield


async def _look(address: str, traffic: Traffic, connected: asyncio.Event) -> None:
    """Look on until the connection ends."""
    async with await aio_pika.connect(address) as connection:
        channel = await connection.channel()
        queue = await channel.declare_queue(QUEUE, durable=True)
        await queue.bind(COPIES, PUBLISHED)
        async with queue.iterator(no_ack=True) as messages:
            connected.set()
            async for message in messages:
                traffic.note(message.body)
