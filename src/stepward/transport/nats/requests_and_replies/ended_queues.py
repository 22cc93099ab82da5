"""Queues of dead instances in the stream: their messages are moved to the queue of a live one."""

from __future__ import annotations

from collections.abc import Collection

from stepward.transport.broker.batching import MessageBatch
from stepward.transport.nats.requests_and_replies.request_stream import Stream

MOST_ADOPTED = 10_000
"""Most messages of one queue that are moved at once."""
NEVER = float("inf")


async def adopt_ended(stream: Stream, queues: Collection[str], heir: str, live: Collection[str] | None) -> None:
    """Move the messages of queues outside ``live`` to the queue ``heir``; also those that were taken."""
    for queue in await stream.standing(queues, None if live is None else {*live, heir}):
        await _adopt(stream, queue, heir)


async def _adopt(stream: Stream, queue: str, heir: str) -> None:
    place = 0
    for _ in range(MOST_ADOPTED):
        found = await stream.first(queue, place)
        if found is None or found.seq is None:
            return
        place = found.seq
        await stream.append(heir, [MessageBatch(found.data or b"[]", NEVER)])
        await stream.delete(place)
