"""Status events as applications read them: in order, from where they left off."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from stepward.client.queues.deduplication import EventsSeen
from stepward.errors import InvalidPayload, QueueRefused, TransportError
from stepward.model.messages.cloudevents import data_of, decode_event
from stepward.transport.queues.contract import AppQueues, Stored

BATCH = 250
LONGEST_SEQUENCE = 20
PAUSE = 0.5
"""Seconds between tries while the queue cannot be reached."""
REFUSED_SECONDS = 5.0
"""Seconds for which a broker may refuse the queue before the reader raises: a Scheduler may be about to create it."""


class StatusEvent(Struct, frozen=True, kw_only=True):
    """A status event, as a task sent it to its private response queue."""

    id: str
    """The same whenever the event comes again."""
    type: str
    """For example ``stepward.task.completed``."""
    subject: str
    """The id of the task."""
    sequence: int
    """1, 2, 3, … within the task."""
    time: datetime
    data: dict[str, Any]
    store: str | None = None
    """The identity of the store that sent it; None where the queue stands in that store."""


class StatusEvents:
    """The events of one private response queue, which has one reader at a time.

    An event counts as dealt with once the next one is asked for; what was not comes again, in order, when the
    queue is read from its beginning. What a broker has twice is given once. While the queue cannot be reached the
    reader waits; if a broker refuses it for 5 s, QueueRefused is raised, and the next one may be asked for all the
    same. Ends with TransportError when closed. One that only watches settles nothing, and may stand beside the reader.
    """

    def __init__(
        self, queues: AppQueues, queue: str, *, watches: bool = False, after: StatusEvents | None = None
    ) -> None:
        self._queues = queues
        self._queue = queue
        self._watching = queues.watch(queue) if watches else None
        self._last = 0
        """The token that was given last; 0 begins with what no reader has settled."""
        self._ready: deque[tuple[int, StatusEvent]] = deque()
        self._dealt_with: list[int] = []
        self._doubles: list[int] = []
        self._seen = EventsSeen()
        self._after = after

    def __aiter__(self) -> StatusEvents:
        return self

    async def __anext__(self) -> StatusEvent:
        refused_until: float | None = None
        while not self._ready:
            try:
                await self._fetch()
            except QueueRefused:
                now = asyncio.get_running_loop().time()
                if refused_until is None:
                    refused_until = now + REFUSED_SECONDS
                if self._queues.closed or now >= refused_until:
                    raise
                await asyncio.sleep(PAUSE)
            except TransportError:
                refused_until = None
                if self._queues.closed:
                    raise
                await asyncio.sleep(PAUSE)
        token, event = self._ready.popleft()
        if self._watching is None:
            self._dealt_with.append(token)
        return event

    async def stop(self) -> None:
        """Settle what was dealt with: all but the event that was given last."""
        done, self._dealt_with = self._dealt_with[:-1], self._dealt_with[-1:]
        await self._settle(done + self._doubles)
        self._doubles = []

    async def _settle(self, tokens: list[int]) -> None:
        if tokens:
            await self._queues.settle(self._queue, tokens)

    async def _fetch(self) -> None:
        if self._after is not None:
            await self._after.stop()
            self._after = None
        await self._settle(self._dealt_with + self._doubles)
        self._dealt_with, self._doubles = [], []
        stored = await self._look()
        events: list[tuple[int, StatusEvent]] = []
        foreign: list[tuple[int, str]] = []
        for item in stored:
            try:
                events.append((item.token, _read(item)))
            except InvalidPayload as error:
                foreign.append((item.token, str(error)))
        if foreign and self._watching is None:
            await self._queues.bury(self._queue, foreign)
        # Only now: what could not be buried is read again.
        self._take(events)
        self._last = stored[-1].token

    async def _look(self) -> Sequence[Stored]:
        if self._watching is not None:
            return await self._watching.read(self._last, BATCH)
        return await self._queues.read(self._queue, self._last, BATCH)

    def _take(self, events: list[tuple[int, StatusEvent]]) -> None:
        for token, event in events:
            if self._seen.is_new(event.id.removesuffix(f"/{event.sequence}"), event.sequence):
                self._ready.append((token, event))
            elif self._watching is None:
                self._doubles.append(token)


class Readers:
    """The readers that one client has opened: each goes on where the last one of its queue was stopped."""

    def __init__(self, queues: AppQueues) -> None:
        self._queues = queues
        self._readers: dict[str, StatusEvents] = {}

    def open(self, queue: str) -> StatusEvents:
        """A reader of the queue."""
        reader = StatusEvents(self._queues, queue, after=self._readers.get(queue))
        self._readers[queue] = reader
        return reader

    async def close(self) -> None:
        """Settle what was dealt with; what cannot be reached comes again."""
        for reader in self._readers.values():
            with contextlib.suppress(TransportError):
                await reader.stop()


def _read(stored: Stored) -> StatusEvent:
    event = decode_event(stored.body)
    try:
        sequence = int((event.sequence or "")[:LONGEST_SEQUENCE])
    except ValueError:
        raise InvalidPayload(f"event {event.id[:100]!r}: expected a sequence, found {event.sequence!r:.80}") from None
    return StatusEvent(
        id=event.id,
        type=event.type,
        subject=event.subject or "",
        sequence=sequence,
        time=event.time or datetime.fromtimestamp(0, UTC),
        data=data_of(event, dict[str, Any]),
        store=event.store,
    )
