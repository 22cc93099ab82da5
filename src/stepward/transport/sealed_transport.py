"""Encrypts what requests, replies and progress carry through any transport; names, ids and deadlines stay readable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from stepward.events import Observers
from stepward.model.failures import UNREADABLE
from stepward.model.messages.requests import Outcome, Progress, Reply, Request
from stepward.payload.sealed import PayloadCodec, why_unopened
from stepward.transport.contract import AgentMessage, Delivery
from stepward.transport.forwarding_transport import ForwardingTransport


@dataclass(frozen=True, slots=True)
class SealedTransport(ForwardingTransport):
    """A transport around another.

    A request that cannot be opened is answered at once, so that its step is repeated, perhaps by an Agent that has the
    key; a reply that cannot be opened counts as a failed attempt that may have acted.
    """

    codec: PayloadCodec
    observers: Observers

    async def publish(self, queue: str, messages: Sequence[AgentMessage]) -> None:
        await self.inner.publish(queue, [sealed(message, self.codec) for message in messages])

    async def take(self, queue: str, limit: int, lease: float) -> list[Delivery]:
        while True:
            taken = await self.inner.take(queue, limit, lease)
            found = [delivery for each in taken if (delivery := await self._opened(queue, each)) is not None]
            if found:
                return found

    async def _opened(self, queue: str, delivery: Delivery) -> Delivery | None:
        """The delivery with its payloads; None for one that was dealt with here."""
        message = opened(delivery.message, self.codec)
        reason = unopened_part(message)
        if reason is None:
            return replace(delivery, message=message)
        # An answer names its task by the internal id alone.
        id = message.task_id if isinstance(message, Request) else None
        uid = None if isinstance(message, Request) else message.task
        self.observers.emit("transport.unopened", queue=queue, task=id, task_uid=uid, step=message.key, error=reason)
        if isinstance(message, Reply):
            return replace(delivery, message=_unreadable(message, reason))
        if isinstance(message, Request):
            await self.publish(message.reply_to, [message.gave_up(_error(reason), maybe_done=False, calls=0)])
        await self.settle(queue, [delivery])
        return None


def sealed(message: AgentMessage, codec: PayloadCodec) -> AgentMessage:
    """The message with its payloads sealed for its step."""
    if isinstance(message, Request):
        input = codec.seal(message.input, message.task, place_of("request.input", message))
        return replace(message, input=input, progress=_sealed(message.progress, "progress", message, codec))
    if isinstance(message, Progress):
        return replace(message, progress=codec.seal(message.progress, message.task, place_of("progress", message)))
    output, error = message.output, message.error
    return replace(
        message,
        output=_sealed(output, "reply.output", message, codec),
        error=_sealed(error, "reply.error", message, codec),
        written=_sealed(message.written, "reply.written", message, codec),
    )


def opened(message: AgentMessage, codec: PayloadCodec) -> AgentMessage:
    """The message with its payloads as they were; what cannot be opened says so."""
    if isinstance(message, Request):
        input = codec.open(message.input, message.task, place_of("request.input", message))
        return replace(message, input=input, progress=_open(message.progress, "progress", message, codec))
    if isinstance(message, Progress):
        return replace(message, progress=codec.open(message.progress, message.task, place_of("progress", message)))
    output, error = message.output, message.error
    return replace(
        message,
        output=_open(output, "reply.output", message, codec),
        error=_open(error, "reply.error", message, codec),
        written=_open(message.written, "reply.written", message, codec),
    )


def unopened_part(message: AgentMessage) -> str | None:
    """Why a payload of the message could not be opened; None if all were."""
    if isinstance(message, Request):
        return why_unopened(message.input)
    if isinstance(message, Progress):
        return why_unopened(message.progress)
    parts = (message.output, message.error, message.written)
    return next((reason for part in parts if part is not None and (reason := why_unopened(part))), None)


def place_of(kind: str, message: AgentMessage) -> str:
    """What a payload of a message is bound to beside its task."""
    return f"{kind}\0{message.run}\0{message.key}"


def _sealed(data: bytes | None, kind: str, message: AgentMessage, codec: PayloadCodec) -> bytes | None:
    return None if data is None else codec.seal(data, message.task, place_of(kind, message))


def _open(data: bytes | None, kind: str, message: AgentMessage, codec: PayloadCodec) -> bytes | None:
    return None if data is None else codec.open(data, message.task, place_of(kind, message))


def _unreadable(reply: Reply, reason: str) -> Reply:
    return replace(reply, outcome=Outcome.GAVE_UP, output=None, written=None, error=_error(reason), maybe_done=True)


def _error(reason: str) -> bytes:
    return msgspec.json.encode(
        {"message": f"expected a message whose payload can be decrypted, found that {reason}", "type": UNREADABLE}
    )
