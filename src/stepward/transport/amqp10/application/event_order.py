"""Status events in order after a lost connection: a broker may give a new link the later ones first.

Neither RabbitMQ's plugin nor ActiveMQ keeps a queue from a new reader until it has noticed that the last one is gone,
and has put back what that one held.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

from stepward.transport.queues.response_log import unpacked

HELD_SECONDS = 15.0
"""Most seconds for which an event waits for earlier ones: by then a broker has noticed a connection that was silent."""
TASKS_KEPT = 20_000
"""Tasks whose last sequence is remembered."""

Message = TypeVar("Message")
TaskEvents = Sequence[tuple[str, int]]
"""The task and sequence of each event in a message."""


class _Named(Struct, frozen=True, gc=False):
    id: str
    sequence: str


_decoder = msgspec.json.Decoder(_Named)


class EventOrder(Generic[Message]):
    """Keeps messages with events whose predecessors are missing, as long as these may still return."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._last: OrderedDict[str, int] = OrderedDict()
        """By task, the sequence up to which its events were passed on."""
        self._kept: list[tuple[TaskEvents, Message]] = []
        self._is_left = False
        """Whether a link of this reader has ended."""
        self._until = float("-inf")
        """The end of the time in which events may return late."""

    def left(self, unsettled: Iterable[bytes]) -> None:
        """A link has ended: events that are not settled come again over the next one, and so does what was kept."""
        self._is_left = True
        self._kept.clear()
        for body in unsettled:
            for task, sequence in _events(body):
                self._last[task] = min(self._last.get(task, sequence), sequence - 1)

    def opened(self) -> None:
        """A link is open: what the last one held may return late, however long there was none between them."""
        if self._is_left:
            self._until = self._now() + HELD_SECONDS

    def arrived(self, body: bytes, message: Message) -> list[Message]:
        """The messages that are next, in order, now that this one has arrived."""
        self._kept.append((_events(body), message))
        return self._next() if self._is_waiting else self.overdue()

    def overdue(self) -> list[Message]:
        """The messages whose predecessors did not return in time, by sequence."""
        if self._is_waiting or not self._kept:
            return []
        late, self._kept = sorted(self._kept, key=_highest), []
        return [self._passed(events, message) for events, message in late]

    @property
    def _is_waiting(self) -> bool:
        return self._now() < self._until

    def _next(self) -> list[Message]:
        found: list[Message] = []
        is_over = False
        while not is_over:
            is_over = True
            for place, (events, message) in enumerate(self._kept):
                if self._is_next(events):
                    del self._kept[place]
                    found.append(self._passed(events, message))
                    is_over = False
                    break
        return found

    def _is_next(self, events: TaskEvents) -> bool:
        """Whether no earlier event of these tasks is missing."""
        last: dict[str, int] = {}
        for task, sequence in events:
            if sequence > last.get(task, self._last.get(task, 0)) + 1:
                return False
            last[task] = max(sequence, last.get(task, 0))
        return True

    def _passed(self, events: TaskEvents, message: Message) -> Message:
        for task, sequence in events:
            self._last[task] = max(self._last.get(task, 0), sequence)
            self._last.move_to_end(task)
        while len(self._last) > TASKS_KEPT:
            self._last.popitem(last=False)
        return message


def _highest(kept: tuple[TaskEvents, object]) -> int:
    return max((sequence for _, sequence in kept[0]), default=0)


def _events(body: bytes) -> TaskEvents:
    """The task and sequence of each status event in a message; nothing of foreign ones."""
    found = []
    for event in unpacked(body):
        try:
            named = _decoder.decode(event)
            sequence = int(named.sequence)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            continue
        found.append((named.id.removesuffix(f"/{sequence}"), sequence))
    return found
