"""Messages of a work queue that this process has received: waiting, or taken and not settled."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from stepward.transport.queues.contract import QueuedMessage

Handle = TypeVar("Handle")
"""The broker's handle for a message."""


@dataclass(slots=True, eq=False)
class Held(Generic[Handle]):
    """One received message."""

    token: int
    handle: Handle
    body: bytes
    tries: int
    until: float
    """When the broker gives it to another process; never for a waiting message of a broker without leases."""
    expires_at: float | None


class InFlight(Generic[Handle]):
    """Returns new messages together, and a message that returned alone: it may have crashed its last consumer."""

    def __init__(self) -> None:
        self._waiting: deque[Held[Handle]] = deque()
        self._given: dict[int, Held[Handle]] = {}
        self._token = 0

    def add(self, handle: Handle, body: bytes, tries: int, until: float, expires_at: float | None = None) -> None:
        """Add a message that arrived."""
        self._token += 1
        self._waiting.append(Held(self._token, handle, body, tries, until, expires_at))

    def give(self, limit: int, now: float, lease: float = float("inf")) -> list[QueuedMessage]:
        """The oldest waiting messages, each for ``lease`` seconds or what is left of the broker's lease."""
        found: list[Held[Handle]] = []
        while self._waiting and len(found) < limit and not (found and self._waiting[0].tries > 1):
            held = self._waiting.popleft()
            if held.until <= now:
                continue
            held.until = min(held.until, now + lease)
            found.append(held)
            if held.tries > 1:
                break
        self._given.update((held.token, held) for held in found)
        return [_shown(held) for held in found]

    def set_aside(self) -> list[Held[Handle]]:
        """Drop all waiting messages that had returned, except the first, and return them."""
        returned = [held for held in self._waiting if held.tries > 1]
        others = set(returned[1:])
        fresh = [held for held in self._waiting if held.tries == 1]
        self._waiting = deque([*fresh, *returned[:1]])
        return [held for held in returned if held in others]

    def given(self, token: int) -> QueuedMessage | None:
        """A message that was taken and is not settled."""
        held = self._given.get(token)
        return None if held is None else _shown(held)

    def settle(self, tokens: Iterable[int]) -> list[Handle]:
        """Remove these; the broker's handles for them."""
        return [held.handle for token in tokens if (held := self._given.pop(token, None)) is not None]

    def extend(self, tokens: Iterable[int], until: float) -> list[Handle]:
        """Extend the leases of these."""
        kept = [held for token in tokens if (held := self._given.get(token)) is not None]
        for held in kept:
            held.until = until
        return [held.handle for held in kept]

    def lapsed(self, now: float) -> list[Handle]:
        """Remove messages whose leases are over; another process may have them."""
        return self.settle([token for token, held in self._given.items() if held.until <= now])

    def clear(self) -> list[Handle]:
        """Remove everything; the messages that were not taken."""
        waiting = [held.handle for held in self._waiting]
        self._waiting.clear()
        self._given.clear()
        return waiting

    @property
    def has_returned(self) -> bool:
        """Whether a waiting message was taken before."""
        return any(held.tries > 1 for held in self._waiting)

    def __len__(self) -> int:
        """How many messages are held, waiting or taken."""
        return len(self._waiting) + len(self._given)


def _shown(held: Held[Handle]) -> QueuedMessage:
    return QueuedMessage(held.token, held.body, held.tries, held.until, held.expires_at)
