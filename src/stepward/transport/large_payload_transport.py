"""Keeps large payloads of requests and replies outside the queues: messages carry references."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from stepward.errors import StoreUnavailable, TransportError
from stepward.events import Observers
from stepward.large_payloads import PayloadKeeper
from stepward.model.failures import UNREADABLE
from stepward.model.messages.requests import Outcome, Reply, Request
from stepward.payload.sealed import why_unopened
from stepward.transport.contract import AgentMessage, Delivery
from stepward.transport.forwarding_transport import ForwardingTransport


@dataclass(frozen=True, slots=True)
class LargePayloadTransport(ForwardingTransport):
    """A transport around another.

    A request whose payload cannot be fetched is answered at once, so that its step is repeated or an operator is
    called; such a reply counts as a failed attempt that may have acted. While the object store cannot be reached, verbs
    raise TransportError, and the messages come again.
    """

    keeper: PayloadKeeper
    observers: Observers

    async def publish(self, queue: str, messages: Sequence[AgentMessage]) -> None:
        try:
            put = await asyncio.gather(*map(self._put, messages))
        except StoreUnavailable as error:
            raise TransportError(str(error)) from error
        await self.inner.publish(queue, put)

    async def take(self, queue: str, limit: int, lease: float) -> list[Delivery]:
        while True:
            taken = await self.inner.take(queue, limit, lease)
            try:
                fetched = await asyncio.gather(*(self._fetched(queue, each) for each in taken))
            except StoreUnavailable as error:
                raise TransportError(str(error)) from error
            if found := [delivery for delivery in fetched if delivery is not None]:
                return found

    async def _put(self, message: AgentMessage) -> AgentMessage:
        put, owner = self.keeper.put, message.task
        if isinstance(message, Request):
            return replace(message, input=await put(owner, message.input))
        if not isinstance(message, Reply):
            return message
        output = None if message.output is None else await put(owner, message.output)
        error = None if message.error is None else await put(owner, message.error, keeps_fields=True)
        return replace(message, output=output, error=error)

    async def _fetched(self, queue: str, delivery: Delivery) -> Delivery | None:
        """The delivery with its payloads; None for one that was dealt with here."""
        message = delivery.message
        if isinstance(message, Request):
            return await self._fetched_request(queue, delivery, message)
        if isinstance(message, Reply):
            return replace(delivery, message=await self._fetched_reply(message))
        return delivery

    async def _fetched_request(self, queue: str, delivery: Delivery, request: Request) -> Delivery | None:
        input = await self.keeper.fetch(request.task, request.input)
        reason = why_unopened(input)
        if reason is None:
            return replace(delivery, message=replace(request, input=input))
        self.observers.emit("transport.unopened", queue=queue, task=request.task_id, step=request.key, error=reason)
        await self.publish(request.reply_to, [request.gave_up(_error(reason), maybe_done=False, calls=0)])
        await self.inner.settle(queue, [delivery])
        return None

    async def _fetched_reply(self, reply: Reply) -> Reply:
        output = None if reply.output is None else await self.keeper.fetch(reply.task, reply.output)
        error = None if reply.error is None else await self.keeper.fetch(reply.task, reply.error)
        reason = why_unopened(output or b"") or why_unopened(error or b"")
        if reason is not None:
            return replace(reply, outcome=Outcome.GAVE_UP, output=None, error=_error(reason), maybe_done=True)
        return replace(reply, output=output, error=error)


def _error(reason: str) -> bytes:
    message = f"expected a message whose payload outside the queue can be fetched, found that {reason}"
    return msgspec.json.encode({"message": message, "type": UNREADABLE})
