"""Encrypts the data of messages in the applications' own queues: submissions, and the status events that come back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from msgspec import Raw

from stepward.errors import Refused
from stepward.payload.sealed import PayloadCodec, is_sealed, why_unopened
from stepward.transport.queues.contract import AppQueues, QueuedMessage, Stored, Watching
from stepward.transport.queues.forwarding_queues import ForwardingQueues

SUBMISSIONS = "submissions."
EVENT_DATA = "event.data"
SUBMISSION_DATA = "submission.data"

_fields = msgspec.json.Decoder(dict[str, Raw])


@dataclass(frozen=True, slots=True)
class SealedQueues(ForwardingQueues):
    """Queues around others.

    A submission of a process without a key comes as it is; one that cannot be opened becomes a dead letter. An event
    that cannot be opened stays in its queue, and reading raises Refused.
    """

    codec: PayloadCodec

    async def put(self, queue: str, bodies: Sequence[tuple[bytes, float | None]]) -> None:
        if queue.startswith(SUBMISSIONS):
            bodies = [(sealed_message(body, self.codec), expires_at) for body, expires_at in bodies]
        await self.inner.put(queue, bodies)

    async def take(self, queue: str, limit: int, lease: float) -> Sequence[Stored]:
        while True:
            taken = [_opened(each, self.codec, SUBMISSION_DATA) for each in await self.inner.take(queue, limit, lease)]
            dead = [(token, reason) for _, token, reason in taken if reason is not None]
            if dead:
                await self.inner.bury(queue, dead)
            if found := [stored for stored, _, reason in taken if reason is None]:
                return found

    async def read(self, queue: str, after: int, limit: int) -> Sequence[Stored]:
        return _readable(queue, await self.inner.read(queue, after, limit), self.codec)

    def watch(self, queue: str) -> Watching:
        return SealedWatching(queue, self.inner.watch(queue), self.codec)


@dataclass(frozen=True, slots=True)
class SealedWatching:
    """Implements ``Watching`` around another."""

    queue: str
    inner: Watching
    codec: PayloadCodec

    async def read(self, after: int, limit: int) -> Sequence[Stored]:
        """As ``Watching.read``."""
        return _readable(self.queue, await self.inner.read(after, limit), self.codec)


def sealed_queues(queues: AppQueues, codec: PayloadCodec | None) -> AppQueues:
    """The queues themselves where payloads are not encrypted."""
    return queues if codec is None else SealedQueues(queues, codec)


def sealed_message(body: bytes, codec: PayloadCodec) -> bytes:
    """A CloudEvent with its data sealed; anything else as it is."""
    fields, ident = event_parts(body)
    if ident is None or is_sealed(bytes(fields["data"])):
        return body
    fields["data"] = Raw(codec.seal(bytes(fields["data"]), ident, SUBMISSION_DATA))
    return msgspec.json.encode(fields)


def _readable(queue: str, read: Sequence[Stored], codec: PayloadCodec) -> Sequence[Stored]:
    opened = [_opened(each, codec, EVENT_DATA) for each in read]
    for _, token, reason in opened:
        if reason is not None:
            raise Refused(f"event {token} of {queue}: expected data that can be decrypted, found that {reason}")
    return [stored for stored, _, _ in opened]


def _opened(stored: Stored, codec: PayloadCodec, place: str) -> tuple[Stored, int, str | None]:
    """The message with its data, its token, and why they cannot be opened, if so."""
    fields, ident = event_parts(stored.body)
    if ident is None or not is_sealed(bytes(fields["data"])):
        return stored, stored.token, None
    data = codec.open(bytes(fields["data"]), ident, place)
    reason = why_unopened(data)
    if reason is not None:
        return stored, stored.token, f"data that cannot be decrypted: {reason}"
    body = msgspec.json.encode({**fields, "data": Raw(data)})
    opened = QueuedMessage(stored.token, body, stored.tries, stored.taken_until, stored.expires_at)
    return opened, stored.token, None


def event_parts(body: bytes) -> tuple[dict[str, Raw], str | None]:
    """The fields of a CloudEvent with data, and its id; None for another message."""
    try:
        fields = _fields.decode(body)
        ident = msgspec.json.decode(fields["id"], type=str)
        return fields, ident if "data" in fields else None
    except (msgspec.MsgspecError, KeyError, UnicodeDecodeError, RecursionError):
        return {}, None
