"""The kit's reader of its reply queue: keeps every event as the Agent sent it, also one that a Scheduler refuses."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import UNSET

from stepward.model.messages.requests import Request
from stepward.model.messages.signing import Signer
from stepward.transport.wire.encoding import Read, Wire
from stepward.transport.wire.wire_events import FOREIGN, ProgressEvent, ReplyEvent

MOST_KEPT = 100_000
"""Most events kept of one run."""
SHOWN = 120
"""Most characters of an unreadable message that a finding quotes."""


class ReplyArrival:
    """The events of a reply queue in the order of their arrival."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self.events: list[ReplyEvent | ProgressEvent] = []
        self.unreadable: list[str] = []
        self._batch = msgspec.json.Decoder(list[ReplyEvent | ProgressEvent])

    def add(self, body: bytes) -> None:
        """Keep the events of a broker message."""
        if len(self.events) >= MOST_KEPT:
            return
        try:
            self.events += self._batch.decode(body)
        except FOREIGN as error:
            self.unreadable.append(f"{body[:SHOWN].decode(errors='replace')} ({error})")
        self._changed()

    def replies(self, request: Request) -> list[ReplyEvent]:
        """The replies to an attempt, valid or not."""
        return [event for event in self.events if isinstance(event, ReplyEvent) and is_about(event, request)]

    def progress(self, request: Request) -> list[ProgressEvent]:
        """The progress of an attempt."""
        return [event for event in self.events if isinstance(event, ProgressEvent) and is_about(event, request)]


class ReplyReader(Wire):
    """Decodes broker messages into ``events`` and ``unreadable``; to the consumer they are empty, and so settled."""

    def __init__(self, app: str, signer: Signer, arrival: ReplyArrival) -> None:
        super().__init__(app, signer)
        self._arrival = arrival

    def decode(self, body: bytes) -> Read:
        self._arrival.add(body)
        return Read([], [], [])


def is_about(event: ReplyEvent | ProgressEvent, request: Request) -> bool:
    """Whether an event is about that attempt."""
    named = event.correlationid, event.run, event.step, event.attempt
    return named == (request.task, request.run, request.key, request.attempt)


def data_of(event: ReplyEvent | ProgressEvent) -> object:
    """The event's data as plain values; UNSET if it has none."""
    return UNSET if event.data is UNSET else msgspec.json.decode(bytes(event.data))
