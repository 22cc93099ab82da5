"""Real brokers, and how a foreign program reaches the queues of an application there."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

import aio_pika
import nats as nats_client
from aio_pika.abc import AbstractChannel
from nats.aio.client import Client

from tests.transport.brokers import SERVERS
from tests.transport.wire.described import SINGLE
from tests.transport.wire.taps import Tap, tapped_nats, tapped_rabbitmq


class Door(Protocol):
    """What a stranger can do at a broker."""

    name: str
    address: str

    def tapped(self, app: str) -> AbstractAsyncContextManager[Tap]:
        """Hear everything of an application."""
        ...

    async def put(self, app: str, queue: str, *bodies: bytes) -> None:
        """Put broker messages into a queue; ``told`` is what every process receives."""
        ...

    async def left(self, app: str, queue: str) -> int:
        """How many messages of a queue are not settled."""
        ...

    async def lose(self, app: str, queue: str) -> None:
        """Have the broker lose a queue, and all that is in it."""
        ...

    async def agrees(self, place: Mapping[str, Any]) -> bool:
        """Whether a queue is what the description says of it."""
        ...


class NatsDoor:
    name = "nats"

    def __init__(self, address: str) -> None:
        self.address = address

    def tapped(self, app: str) -> AbstractAsyncContextManager[Tap]:
        return tapped_nats(self.address, app)

    async def put(self, app: str, queue: str, *bodies: bytes) -> None:
        async with self._connected() as client:
            for body in bodies:
                if queue == "told":
                    await client.publish(f"stepward.{app}.told", body)
                else:
                    await client.jetstream().publish(self._subject(app, queue), body)
            await client.flush()

    async def left(self, app: str, queue: str) -> int:
        subject = self._subject(app, queue)
        async with self._connected() as client:
            state = (await client.jetstream().stream_info(f"STEPWARD_{app}", subjects_filter=subject)).state
            return sum((state.subjects or {}).values())

    async def lose(self, app: str, queue: str) -> None:
        async with self._connected() as client:
            await client.jetstream().delete_stream(f"STEPWARD_{app}")

    async def agrees(self, place: Mapping[str, Any]) -> bool:
        said = place.get("x-jetstream")
        if said is None:
            return True
        async with self._connected() as client:
            stream = (await client.jetstream().stream_info(said["stream"])).config
            consumer = said.get("consumer")
            if consumer is None:
                return bool(stream.retention == said["retention"])
            found = (await client.jetstream().consumer_info(said["stream"], consumer["durable_name"])).config
            known = (stream.retention, found.filter_subject, found.ack_policy)
            return known == (said["retention"], consumer["filter_subject"], consumer["ack_policy"])

    def _subject(self, app: str, queue: str) -> str:
        return f"stepward.{app}.queue.{queue}"

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Client]:
        client = await nats_client.connect(self.address)
        try:
            yield client
        finally:
            await client.close()


class RabbitDoor:
    name = "rabbitmq"

    def __init__(self, address: str) -> None:
        self.address = address

    def tapped(self, app: str) -> AbstractAsyncContextManager[Tap]:
        return tapped_rabbitmq(self.address, app)

    async def put(self, app: str, queue: str, *bodies: bytes) -> None:
        async with self._connected() as channel:
            for body in bodies:
                message = aio_pika.Message(body, content_type=SINGLE)
                if queue == "told":
                    exchange = await channel.get_exchange(f"stepward.{app}.told")
                    await exchange.publish(message, "", mandatory=False)
                else:
                    await channel.default_exchange.publish(message, f"stepward.{app}.{queue}")

    async def left(self, app: str, queue: str) -> int:
        async with self._connected() as channel:
            found = await channel.declare_queue(f"stepward.{app}.{queue}", passive=True)
            return found.declaration_result.message_count or 0

    async def agrees(self, place: Mapping[str, Any]) -> bool:
        """RabbitMQ refuses to declare what is there and otherwise."""
        said = place["bindings"]["amqp"]
        async with self._connected() as channel:
            if said["is"] == "queue":
                await channel.declare_queue(
                    said["queue"]["name"], durable=said["queue"]["durable"], arguments=place["x-arguments"]
                )
            else:
                exchange = said["exchange"]
                await channel.declare_exchange(exchange["name"], exchange["type"], durable=exchange["durable"])
        return True

    async def lose(self, app: str, queue: str) -> None:
        async with self._connected() as channel:
            await channel.queue_delete(f"stepward.{app}.{queue}")

    def _connection(self) -> str:
        """The address for AMQP 0-9-1."""
        return self.address

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[AbstractChannel]:
        connection = await aio_pika.connect(self._connection())
        try:
            yield await connection.channel()
        finally:
            await connection.close()


class Amqp10Door(RabbitDoor):
    """Stepward reaches the server by AMQP 1.0, the foreign program by AMQP 0-9-1."""

    name = "amqp10"

    def __init__(self, address: str, by_rabbitmq: str) -> None:
        super().__init__(address)
        self._by_rabbitmq = by_rabbitmq

    def tapped(self, app: str) -> AbstractAsyncContextManager[Tap]:
        return tapped_rabbitmq(self._by_rabbitmq, app)

    async def put(self, app: str, queue: str, *bodies: bytes) -> None:
        async with self._connected() as channel:
            exchange = await channel.get_exchange("amq.topic") if queue == "told" else channel.default_exchange
            for body in bodies:
                message = aio_pika.Message(body, content_type=SINGLE)
                await exchange.publish(message, f"stepward.{app}.{queue}", mandatory=False)

    async def agrees(self, place: Mapping[str, Any]) -> bool:
        """The protocol's bindings say nothing of a queue."""
        return True

    def _connection(self) -> str:
        return self._by_rabbitmq


def opened(name: str) -> Door:
    """The broker of that name, which the tests share."""
    if name == "amqp10":
        return Amqp10Door(SERVERS.amqp10(), SERVERS.rabbitmq())
    return NatsDoor(SERVERS.nats()) if name == "nats" else RabbitDoor(SERVERS.rabbitmq())
