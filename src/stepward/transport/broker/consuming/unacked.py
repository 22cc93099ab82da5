"""Broker messages that a process has received from a queue: their contents, and what is taken and settled."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from stepward.model.messages.requests import Request
from stepward.transport.contract import AgentMessage, Delivery

Handle = TypeVar("Handle")
"""The broker's handle for acknowledging a message."""

REMEMBERED = 10_000
FORGOTTEN_SECONDS = 60.0


@dataclass(slots=True, eq=False)
class BrokerMessage(Generic[Handle]):
    """One broker message; it is acknowledged once everything in it is settled."""

    ident: str
    """The broker's own id of it, the same when it comes again."""
    handle: Handle
    leased_until: float
    unsettled: dict[int, AgentMessage]
    """The messages in it that are not settled, by position."""
    is_spoilt: bool = False
    """Whether something in it is still to be moved to the dead letters."""
    is_returned: bool = False
    """Whether it may have been delivered before, to a process that may still work on it."""
    is_open: bool = False
    """Whether a message in it was taken."""
    is_lapsed: bool = False
    """Whether its lease ran out and the broker was notified."""
    is_over: bool = False
    """Whether it no longer counts: it is settled, or the broker has delivered it again."""


MessagePlace = tuple[BrokerMessage[Handle], int]


class Unacked(Generic[Handle]):
    """The unacknowledged broker messages of one queue. ``done`` collects the handles to acknowledge."""

    def __init__(self, is_revoked: Callable[[Request], bool] = lambda _: False) -> None:
        self._is_revoked = is_revoked
        self.revoked: list[MessagePlace[Handle]] = []
        """Revoked requests, to be answered and settled."""
        self.done: list[Handle] = []
        self.expired = 0
        """Requests that arrived after their complete-by."""
        self._boxes: dict[str, BrokerMessage[Handle]] = {}
        self._waiting: deque[MessagePlace[Handle]] = deque()
        self._given: dict[int, MessagePlace[Handle]] = {}
        self._settled: dict[str, None] = {}
        self._token = 0

    def __len__(self) -> int:
        """How many messages wait to be taken."""
        return len(self._waiting)

    def knows(self, ident: str) -> bool:
        """Whether that broker message is known."""
        return ident in self._boxes or ident in self._settled

    def again(self, ident: str, handle: Handle, leased_until: float) -> None:
        """A known broker message came again: its unsettled messages may be taken once more."""
        if ident in self._settled:
            self.done.append(handle)
            return
        box = self._boxes[ident]
        self._waiting = deque(entry for entry in self._waiting if entry[0] is not box)
        self._given = {token: entry for token, entry in self._given.items() if entry[0] is not box}
        box.handle, box.leased_until, box.is_lapsed, box.is_returned = handle, leased_until, False, True
        self._keep(box)

    def add(
        self,
        ident: str,
        handle: Handle,
        leased_until: float,
        messages: Sequence[AgentMessage],
        *,
        is_spoilt: bool,
        is_returned: bool = False,
    ) -> BrokerMessage[Handle]:
        """Add a new broker message."""
        box: BrokerMessage[Handle] = BrokerMessage(
            ident, handle, leased_until, dict(enumerate(messages)), is_spoilt, is_returned
        )
        self._keep(box)
        return box

    def take(self, limit: int, now: float) -> list[Delivery]:
        """Up to ``limit`` messages that are neither expired, revoked nor delivered to another process."""
        found: list[Delivery] = []
        while self._waiting and len(found) < limit:
            box, place = self._waiting.popleft()
            if box.leased_until <= now or not _is_there(box, place):
                continue
            message = box.unsettled[place]
            if _is_late(message, now):
                self.expired += 1
                self.settle_place(box, place)
                continue
            if isinstance(message, Request) and self._is_revoked(message):
                self.revoked.append((box, place))
                continue
            self._token += 1
            self._given[self._token] = box, place
            box.is_open = True
            found.append(Delivery(message, self._token, box.leased_until))
        return found

    def take_back(self, now: float) -> list[tuple[BrokerMessage[Handle], int, AgentMessage]]:
        """Remove the waiting broker messages, to be returned; those delivered elsewhere are forgotten."""
        waiting, self._waiting = self._waiting, deque()
        return [
            (box, place, box.unsettled[place])
            for box, place in waiting
            if box.leased_until > now and _is_there(box, place)
        ]

    def keep(self, places: Iterable[MessagePlace[Handle]]) -> None:
        """Put broker messages that could not be returned back in front."""
        # One that came again meanwhile waits already, or was taken.
        held = {*self._waiting, *self._given.values()}
        self._waiting.extendleft(reversed([place for place in places if place not in held and _is_there(*place)]))

    def settle(self, tokens: Iterable[int]) -> None:
        """Settle these messages."""
        for token in tokens:
            given = self._given.pop(token, None)
            if given is not None:
                self.settle_place(*given)

    def settle_place(self, box: BrokerMessage[Handle], place: int) -> None:
        """Settle every message in it."""
        if box.is_over:
            return
        box.unsettled.pop(place, None)
        self._look(box)

    def buried(self, box: BrokerMessage[Handle]) -> None:
        """Note that its unreadable parts were moved to the dead letters."""
        box.is_spoilt = False
        self._look(box)

    def forget(self, box: BrokerMessage[Handle]) -> None:
        """Forget it."""
        box.is_over = True
        self._boxes.pop(box.ident, None)

    def extend(self, tokens: Iterable[int], until: float) -> list[Handle]:
        """Extend the leases of these messages; the handles for which to tell the broker."""
        boxes = {id(box): box for box, _ in filter(None, map(self._given.get, tokens)) if not box.is_over}
        for box in boxes.values():
            box.leased_until = until
        return [box.handle for box in boxes.values()]

    def lapsed(self, now: float) -> list[Handle]:
        """The handles of broker messages whose leases are over, each once until it comes again."""
        lapsed = [box for box in self._boxes.values() if box.leased_until <= now and not box.is_lapsed]
        for box in lapsed:
            box.is_lapsed = True
        return [box.handle for box in lapsed]

    def prune(self, now: float) -> None:
        """Forget messages that the broker has given to another process."""
        for box in [box for box in self._boxes.values() if box.leased_until + FORGOTTEN_SECONDS <= now]:
            self.forget(box)
        self._given = {token: given for token, given in self._given.items() if not given[0].is_over}

    def clear(self) -> list[Handle]:
        """Forget everything; the handles of those of which nothing was taken."""
        untouched = [box.handle for box in self._boxes.values() if not box.is_open]
        for box in tuple(self._boxes.values()):
            self.forget(box)
        self._given.clear()
        self._waiting.clear()
        return untouched

    def _keep(self, box: BrokerMessage[Handle]) -> None:
        self._boxes[box.ident] = box
        self._waiting.extend((box, place) for place in box.unsettled)
        self._look(box)

    def _look(self, box: BrokerMessage[Handle]) -> None:
        if box.unsettled or box.is_spoilt or box.is_over:
            return
        self.forget(box)
        self.done.append(box.handle)
        self._settled[box.ident] = None
        if len(self._settled) > REMEMBERED:
            del self._settled[next(iter(self._settled))]


def _is_there(box: BrokerMessage[Handle], place: int) -> bool:
    """Whether it still counts here: a waiting message may have been returned, or come again, meanwhile."""
    return not box.is_over and place in box.unsettled


def _is_late(message: AgentMessage, now: float) -> bool:
    return isinstance(message, Request) and message.complete_by <= now
