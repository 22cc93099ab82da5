"""What the login of one Agent can do at a broker over AMQP 1.0, by the product's protocol engine alone."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from stepward.transport.amqp10.node_addresses import Places, places_of
from stepward.transport.amqp10.protocol.connection import AmqpConnection
from stepward.transport.amqp10.protocol.faults import AmqpFault
from stepward.transport.amqp10.protocol.links import Received, ReceivingLink, SendingLink
from stepward.transport.amqp10.protocol.messages import Sent
from stepward.transport.amqp10.protocol.socket_driver import Login
from stepward.transport.broker.queue_names import BrokerNames
from stepward.transport.wire.wire_events import BATCH
from torture.servers.logins import APPLICATION, NARROW

WireEventFields = dict[str, Any]

OWN = f"agents.{NARROW}"
TAKE_SECONDS = 2.0
LOOK_SECONDS = 0.02
ANSWER_SECONDS = 5.0
FORBIDDEN = ("agents.service", "submissions.orders", "responses.torture.web")
"""Queues of the application that are none of the login's."""


class Amqp10Narrow:
    """One connection; ``forbids`` if the broker has rights for each queue."""

    def __init__(self, line: AmqpConnection, places: Places, *, forbids: bool) -> None:
        self._line = line
        self._places = places
        self._forbids = forbids
        self._senders: dict[str, SendingLink] = {}
        self._receiver: ReceivingLink | None = None
        self._taken: list[WireEventFields] = []

    async def put(self, queue: str, event: WireEventFields) -> None:
        """Write to a queue; one that is gone takes nothing. Raises OSError."""
        with as_os_error():
            sender = self._senders.get(queue)
            if sender is None or not sender.is_open:
                place = self._places.requests(queue)
                self._senders[queue] = sender = await self._line.sender(place.existing)
            async with asyncio.timeout(ANSWER_SECONDS):
                await sender.put(Sent(json.dumps([event]).encode(), event["id"], BATCH))

    async def take(self, count: int) -> list[WireEventFields]:
        """Up to so many requests; they go back when the connection ends. Raises OSError."""
        with as_os_error():
            if self._receiver is None:
                # One link for all: the broker gives to each in turn, and to a new one last.
                self._receiver = await self._line.receiver(self._places.requests(OWN).existing, self._took)
            self._receiver.allow(count - self._receiver.credit)
        end = time.monotonic() + TAKE_SECONDS
        while not self._taken and time.monotonic() < end:  # noqa: ASYNC110
            await asyncio.sleep(LOOK_SECONDS)
        found, self._taken = self._taken, []
        return found

    def _took(self, received: Received) -> None:
        with suppress(ValueError):
            self._taken += [each for each in json.loads(received.message.body) if "proof" in each]

    async def trespass(self, event: WireEventFields) -> None:
        """Write to the queues of others; nothing where the broker would take it."""
        for queue in FORBIDDEN if self._forbids else ():
            with suppress(OSError):
                await self.put(queue, event)


@asynccontextmanager
async def narrow_amqp10(address: str, *, forbids: bool) -> AsyncIterator[Amqp10Narrow]:
    """A connection of the login in the address."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    login = Login("narrow", host, parts.username or "", parts.password or "")
    with as_os_error():
        line = await AmqpConnection.connect(host, parts.port or 0, login, tls=None, on_lost=lambda _: None)
    try:
        yield Amqp10Narrow(line, places_of(line.product, BrokerNames(APPLICATION, "")), forbids=forbids)
    finally:
        await line.close()


@contextmanager
def as_os_error() -> Iterator[None]:
    """Raise what the broker refuses or cuts off as an error that is known without the protocol's engine."""
    try:
        yield
    except AmqpFault as error:
        raise ConnectionError(str(error)) from error
