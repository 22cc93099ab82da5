"""What the login of one Agent can do at a broker, with a program that knows the wire alone."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Protocol

import aio_pika
import nats as nats_client
from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractIncomingMessage
from aiormq.exceptions import AMQPError, ChannelInvalidStateError
from nats.aio.client import Client
from nats.errors import Error as NatsError

from torture.servers.broker import TorturedBroker
from torture.servers.logins import APPLICATION, NARROW

ROOT = f"stepward.{APPLICATION}"
STREAM = f"STEPWARD_{APPLICATION}"
OWN = f"agents.{NARROW}"
TAKE_SECONDS = 2.0
LOOK_SECONDS = 0.02
FIRST = 10
BROKEN = (AMQPError, ChannelInvalidStateError, NatsError)
"""What the clients of brokers raise."""
FORBIDDEN = (
    f"{ROOT}.queue.agents.service",
    f"{ROOT}.submissions.orders",
    f"{ROOT}.responses.torture=web",
    f"{ROOT}.told",
)
"""Subjects at NATS to which the login may not publish."""

WireEventFields = dict[str, Any]


class Narrow(Protocol):
    """One connection with that login."""

    async def put(self, queue: str, event: WireEventFields) -> None:
        """Write to a queue that it may write to."""
        ...

    async def take(self, count: int) -> list[WireEventFields]:
        """Up to so many requests of its Agent; they are never acknowledged."""
        ...

    async def trespass(self, event: WireEventFields) -> None:
        """Write to a place that the broker forbids to that login."""
        ...


class NatsNarrow:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def put(self, queue: str, event: WireEventFields) -> None:
        await self._client.publish(f"{ROOT}.queue.{queue}", _body(event))

    async def take(self, count: int) -> list[WireEventFields]:
        inbox = self._client.new_inbox()
        heard = await self._client.subscribe(inbox)
        asked = {"batch": count, "expires": int(TAKE_SECONDS * 1e9)}
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{STREAM}.agents_{NARROW}"
        await self._client.publish(subject, json.dumps(asked).encode(), reply=inbox)
        found: list[WireEventFields] = []
        try:
            while len(found) < count:
                found += _events((await heard.next_msg(TAKE_SECONDS)).data)
        except (TimeoutError, NatsError):
            pass
        return found

    async def trespass(self, event: WireEventFields) -> None:
        for subject in FORBIDDEN:
            await self._client.publish(subject, _body(event))


class RabbitNarrow:
    def __init__(self, connection: AbstractConnection, channel: AbstractChannel) -> None:
        self._connection = connection
        self._channel = channel

    async def put(self, queue: str, event: WireEventFields) -> None:
        # To a queue that is gone there is no way.
        exchange = await self._channel.get_exchange(f"{ROOT}.queues", ensure=False)
        await exchange.publish(aio_pika.Message(_body(event)), queue, mandatory=False)

    async def take(self, count: int) -> list[WireEventFields]:
        queue = await self._channel.get_queue(f"{ROOT}.{OWN}", ensure=False)
        found: list[WireEventFields] = []

        async def take(message: AbstractIncomingMessage) -> None:
            found.extend(_events(message.body))

        # Before all others: a consumer of the same priority comes after them, and gets nothing of a short queue.
        consumer = await queue.consume(take, arguments={"x-priority": FIRST})
        end = time.monotonic() + TAKE_SECONDS
        while len(found) < count and time.monotonic() < end:  # noqa: ASYNC110
            await asyncio.sleep(LOOK_SECONDS)
        await queue.cancel(consumer)
        return found

    async def trespass(self, event: WireEventFields) -> None:
        for queue in ("agents.service", "submissions.orders", "responses.torture.web"):
            channel = await self._connection.channel()
            exchange = await channel.get_exchange(f"{ROOT}.queues", ensure=False)
            # The server closes the channel.
            with suppress(*BROKEN):
                await exchange.publish(aio_pika.Message(_body(event)), queue, mandatory=False)


@asynccontextmanager
async def narrow(broker: TorturedBroker) -> AsyncIterator[Narrow]:
    """A connection; what was taken over it goes back when it ends."""
    address = broker.address(NARROW)
    if broker.kind == "amqp10":
        from torture.faults.narrow_amqp10 import narrow_amqp10  # noqa: PLC0415  its client is an extra's

        async with narrow_amqp10(address, forbids=broker.forbids_queues) as login:
            yield login
        return
    if broker.kind == "rabbitmq":
        connection = await aio_pika.connect(address)
        try:
            yield RabbitNarrow(connection, await connection.channel())
        finally:
            await connection.close()
        return

    async def refused(error: Exception) -> None:
        """What the server refuses is what is expected of it."""

    client = await nats_client.connect(
        address, inbox_prefix=f"_INBOX.{APPLICATION}.{NARROW}", error_cb=refused, allow_reconnect=False
    )
    try:
        yield NatsNarrow(client)
        await client.flush()
    finally:
        await client.close()


def _body(event: WireEventFields) -> bytes:
    return json.dumps([event]).encode()


def _events(body: bytes) -> list[WireEventFields]:
    try:
        found = json.loads(body)
    except ValueError:
        return []
    return [event for event in found if "proof" in event] if isinstance(found, list) else []
