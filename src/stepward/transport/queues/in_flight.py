"""What a process was sent from a queue that many take from: waiting to be given out, or given and not settled."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from stepward.transport.queues.contract import QueuedMessage

Handle = TypeVar("Handle")
"""What a broker is told by what becomes of a message."""


@dataclass(slots=True, eq=False)
class Held(Generic[Handle]):
    """One message."""

    token: int
    handle: Handle
    body: bytes
    tries: int
    until: float
    """When somebody else is given it; while it waits here, if the broker leases nothing, never."""


class InFlight(Generic[Handle]):
    """Gives out what is fresh together, and what returned alone: it may be what ended its last taker."""

    def __init__(self) -> None:
        self._waiting: deque[Held[Handle]] = deque()
        self._given: dict[int, Held[Handle]] = {}
        self._token = 0

    def add(self, handle: Handle, body: bytes, tries: int, until: float) -> None:
        """A message came."""
        self._token += 1
        self._waiting.append(Held(self._token, handle, body, tries, until))

    def give(self, limit: int, now: float, lease: float = float("inf")) -> list[QueuedMessage]:
        """What waits longest, each for ``lease`` seconds or what is left of the broker's own."""
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
        """All that returned and waits, but the first of them, waits no more."""
        returned = [held for held in self._waiting if held.tries > 1]
        others = set(returned[1:])
        fresh = [held for held in self._waiting if held.tries == 1]
        self._waiting = deque([*fresh, *returned[:1]])
        return [held for held in returned if held in others]

    def given(self, token: int) -> QueuedMessage | None:
        """One that is given out and not settled."""
        held = self._given.get(token)
        return None if held is None else _shown(held)

    def settle(self, tokens: Iterable[int]) -> list[Handle]:
        """These were dealt with; what to tell the broker by."""
        return [held.handle for token in tokens if (held := self._given.pop(token, None)) is not None]

    def extend(self, tokens: Iterable[int], until: float) -> list[Handle]:
        """Keep these."""
        kept = [held for token in tokens if (held := self._given.get(token)) is not None]
        for held in kept:
            held.until = until
        return [held.handle for held in kept]

    def lapsed(self, now: float) -> list[Handle]:
        """What was given out and kept for longer than leased is not ours any more."""
        return self.settle([token for token, held in self._given.items() if held.until <= now])

    def clear(self) -> list[Handle]:
        """Forget everything; what nobody was given."""
        waiting = [held.handle for held in self._waiting]
        self._waiting.clear()
        self._given.clear()
        return waiting

    @property
    def has_returned(self) -> bool:
        """Whether something waits that was taken before."""
        return any(held.tries > 1 for held in self._waiting)

    def __len__(self) -> int:
        """How many are held, waiting or given."""
        return len(self._waiting) + len(self._given)


def _shown(held: Held[Handle]) -> QueuedMessage:
    return QueuedMessage(held.token, held.body, held.tries, held.until)
