"""Keeps large data of messages in the applications' own queues outside them: submissions, and status events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
from msgspec import Raw

from stepward.errors import Refused, StoreUnavailable, TransportError
from stepward.large_payloads import PayloadKeeper, message_owner
from stepward.payload.references import is_elsewhere
from stepward.payload.sealed import why_unopened
from stepward.transport.queues.contract import AppQueues, QueuedMessage, Stored, Watching
from stepward.transport.queues.forwarding_queues import ForwardingQueues
from stepward.transport.queues.sealed_queues import SUBMISSIONS, event_parts


@dataclass(frozen=True, slots=True)
class LargePayloadQueues(ForwardingQueues):
    """Queues around others.

    A submission whose data cannot be fetched becomes a dead letter; an event whose data cannot be fetched stays in its
    queue, and reading raises Refused. While the object store cannot be reached, verbs raise TransportError.
    """

    keeper: PayloadKeeper

    async def put(self, queue: str, bodies: Sequence[tuple[bytes, float | None]]) -> None:
        if queue.startswith(SUBMISSIONS):
            bodies = [(await self._put(body), expires_at) for body, expires_at in bodies]
        await self.inner.put(queue, bodies)

    async def take(self, queue: str, limit: int, lease: float) -> Sequence[Stored]:
        while True:
            taken = [await _fetched(self.keeper, each) for each in await self.inner.take(queue, limit, lease)]
            dead = [(stored.token, reason) for stored, reason in taken if reason is not None]
            if dead:
                await self.inner.bury(queue, dead)
            if found := [stored for stored, reason in taken if reason is None]:
                return found

    async def read(self, queue: str, after: int, limit: int) -> Sequence[Stored]:
        return await _readable(self.keeper, queue, await self.inner.read(queue, after, limit))

    def watch(self, queue: str) -> Watching:
        return LargePayloadWatching(queue, self.inner.watch(queue), self.keeper)

    async def _put(self, body: bytes) -> bytes:
        if not self.keeper.is_large(body):
            return body
        fields, ident = event_parts(body)
        if ident is None:
            return body
        try:
            fields["data"] = Raw(await self.keeper.put(message_owner(ident), bytes(fields["data"])))
        except StoreUnavailable as error:
            raise TransportError(str(error)) from error
        return msgspec.json.encode(fields)


@dataclass(frozen=True, slots=True)
class LargePayloadWatching:
    """Implements ``Watching`` around another."""

    queue: str
    inner: Watching
    keeper: PayloadKeeper

    async def read(self, after: int, limit: int) -> Sequence[Stored]:
        """As ``Watching.read``."""
        return await _readable(self.keeper, self.queue, await self.inner.read(after, limit))


def with_large_payloads(queues: AppQueues, keeper: PayloadKeeper | None) -> AppQueues:
    """The queues themselves where all payloads stay in them."""
    return queues if keeper is None else LargePayloadQueues(queues, keeper)


async def _readable(keeper: PayloadKeeper, queue: str, read: Sequence[Stored]) -> Sequence[Stored]:
    found = []
    for each in read:
        stored, reason = await _fetched(keeper, each)
        if reason is not None:
            raise Refused(f"event {each.token} of {queue}: expected data that can be fetched, found that {reason}")
        found.append(stored)
    return found


async def _fetched(keeper: PayloadKeeper, stored: Stored) -> tuple[Stored, str | None]:
    """The message with its data, and why they cannot be fetched, if so."""
    fields, ident = event_parts(stored.body)
    if ident is None or not is_elsewhere(bytes(fields["data"])):
        return stored, None
    try:
        data = await keeper.fetch(_owner(fields, ident), bytes(fields["data"]))
    except StoreUnavailable as error:
        raise TransportError(str(error)) from error
    reason = why_unopened(data)
    if reason is not None:
        return stored, f"its data cannot be fetched: {reason}"
    body = msgspec.json.encode({**fields, "data": Raw(data)})
    fetched = QueuedMessage(stored.token, body, stored.tries, stored.taken_until, stored.expires_at)
    return fetched, None


def _owner(fields: Mapping[str, Raw], ident: str) -> str:
    """A status event's id is its task's uid and a number; a submission has no place in a sequence."""
    return ident.rpartition("/")[0] if "sequence" in fields else message_owner(ident)
