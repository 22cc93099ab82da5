"""What each broker implements for the applications' queues."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from stepward.transport.queues.contract import QueuedMessage

RESPONSES = "replies."
"""What the names of response queues begin with."""


class Posted(Struct, frozen=True, gc=False):
    """A message to be; under one ``id`` a broker that can keeps it once, for as long as it looks for doubles."""

    body: bytes
    id: str
    expires_at: float | None = None


class WorkQueue(Protocol):
    """A queue that many take from, as this process does. All raise TransportError."""

    async def take(self, limit: int, lease: float) -> Sequence[QueuedMessage]:
        """Wait for messages and take from 1 to ``limit``; one that returned comes alone."""
        ...

    def given(self, token: int) -> QueuedMessage | None:
        """One that is given out and not settled."""
        ...

    async def settle(self, tokens: Sequence[int]) -> None:
        """These were dealt with."""
        ...

    async def extend(self, tokens: Sequence[int], lease: float) -> None:
        """Keep these."""
        ...

    async def close(self) -> None:
        """Give back what nobody was given."""
        ...


class ResponseQueue(Protocol):
    """A queue that has one reader, as that one reads it. All raise TransportError."""

    async def read(self, after: int, limit: int) -> Sequence[QueuedMessage]:
        """Wait for what follows the token ``after``; 0 begins anew."""
        ...

    def given(self, token: int) -> QueuedMessage | None:
        """One that is not settled."""
        ...

    async def settle(self, tokens: Sequence[int]) -> None:
        """These were dealt with."""
        ...

    async def close(self) -> None:
        """Read no more."""
        ...


class QueueBackend(Protocol):
    """What a broker does for the queues of one application. All raise TransportError."""

    @property
    def name(self) -> str:
        """What people call the broker."""
        ...

    @property
    def limit(self) -> int:
        """The bytes of its largest message."""
        ...

    async def open(self) -> None:
        """Connect; the connection is made again whenever it is lost."""
        ...

    async def append(self, queue: str, posted: Posted) -> None:
        """Append a message; durable when it returns."""
        ...

    async def standing(self, prefix: str, known: Collection[str]) -> Mapping[str, bool | None]:
        """The queues with that prefix that hold something, and whether each is read; None is unknown."""
        ...

    def work(self, queue: str) -> WorkQueue:
        """A queue that many take from."""
        ...

    def responses(self, queue: str, *, watches: bool) -> ResponseQueue:
        """A queue that has one reader, as its reader or as one who only watches."""
        ...

    async def close(self) -> None:
        """Let go of the connection."""
        ...
