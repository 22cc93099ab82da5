"""Requests to a node of the broker, each answered by a message: ``$cbs`` and ``$management`` of Azure Service Bus."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from stepward.transport.amqp10.protocol.connection import AmqpConnection
from stepward.transport.amqp10.protocol.faults import AmqpFault, AmqpRefused
from stepward.transport.amqp10.protocol.links import Received, ReceivingLink, SendingLink
from stepward.transport.amqp10.protocol.messages import Arrived, Asked

ANSWER_SECONDS = 5.0
CREDIT = 100
SUCCESS = range(200, 300)
REFUSALS = {401: "amqp:unauthorized-access", 403: "amqp:unauthorized-access", 404: "amqp:not-found"}
"""Conditions for the status codes of HTTP that an answer carries."""


class Answer(Struct, frozen=True):
    """An answer; ``value`` is its body."""

    status: int
    value: Any


class ManagementNode:
    """One node over one connection; its links are opened with the first request."""

    def __init__(self, line: AmqpConnection, address: str) -> None:
        self._line = line
        self._address = address
        self._numbers = itertools.count(1)
        self._target = f"{address}-answers-{id(self):x}"
        self._waiting: dict[str, asyncio.Future[Arrived]] = {}
        self._sender: SendingLink | None = None
        self._receiver: ReceivingLink | None = None
        self._opening = asyncio.Lock()

    async def call(self, operation: str, value: Any, properties: Mapping[str, Any] | None = None) -> Answer:
        """Send a request and wait for its answer. Raises AmqpFault, also for an answer that is no success."""
        ident = str(next(self._numbers))
        came: asyncio.Future[Arrived] = asyncio.get_running_loop().create_future()
        self._waiting[ident] = came
        asked = Asked(value, ident, self._target, {"operation": operation, **(properties or {})})
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                sender = await self._opened()
                await sender.put(asked)
                answer = await came
        finally:
            self._waiting.pop(ident, None)
        return _checked(answer, f"{operation} at {self._address}")

    async def _opened(self) -> SendingLink:
        async with self._opening:
            if self._receiver is None or self._receiver.why is not None:
                self._receiver = await self._line.receiver(
                    self._address, self._answered, target=self._target, is_settled=True
                )
                self._receiver.allow(CREDIT)
            if self._sender is None or self._sender.why is not None:
                self._sender = await self._line.sender(self._address)
            return self._sender

    def _answered(self, received: Received) -> None:
        received.accept()
        received.link.allow(1)
        waiting = self._waiting.get(received.message.correlates)
        if waiting is not None and not waiting.done():
            waiting.set_result(received.message)


def _checked(answer: Arrived, what: str) -> Answer:
    found = answer.properties
    status = int(found.get("statusCode", found.get("status-code", 0)))
    if status in SUCCESS:
        return Answer(status, answer.value)
    said = " ".join(str(found.get("statusDescription", found.get("status-description", ""))).split())[:300]
    if status in REFUSALS:
        raise AmqpRefused(REFUSALS[status], f"{what}: {said or status}")
    raise AmqpFault(f"{what}: {said or 'no description'} ({status})")
