"""The part of the applications' queues that each broker implements."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from stepward.transport.queues.contract import QueuedMessage

RESPONSES = "replies."
"""What the names of response queues begin with."""


class Posted(Struct, frozen=True, gc=False):
    """A message to append; a broker that deduplicates keeps one per ``id`` for as long as it remembers ids."""

    body: bytes
    id: str
    expires_at: float | None = None


class WorkQueue(Protocol):
    """A queue with many consumers, as this process consumes it. All methods raise TransportError."""

    async def take(self, limit: int, lease: float) -> Sequence[QueuedMessage]:
        """Wait for messages and take from 1 to ``limit``; one that returned comes alone."""
        ...

    def given(self, token: int) -> QueuedMessage | None:
        """A message that was taken and is not settled."""
        ...

    async def settle(self, tokens: Sequence[int]) -> None:
        """Acknowledge these messages."""
        ...

    async def extend(self, tokens: Sequence[int], lease: float) -> None:
        """Extend the leases of these."""
        ...

    async def close(self) -> None:
        """Return the messages that were not taken."""
        ...


class ResponseQueue(Protocol):
    """A queue with one reader, as the reader reads it. All methods raise TransportError."""

    async def read(self, after: int, limit: int) -> Sequence[QueuedMessage]:
        """Wait for messages after the token ``after``; 0 starts again."""
        ...

    def given(self, token: int) -> QueuedMessage | None:
        """A message that is not settled."""
        ...

    async def settle(self, tokens: Sequence[int]) -> None:
        """Acknowledge these messages."""
        ...

    async def close(self) -> None:
        """Stop reading."""
        ...


class QueueBackend(Protocol):
    """A broker's part in the queues of one application. All methods raise TransportError."""

    @property
    def name(self) -> str:
        """The broker's name for people."""
        ...

    @property
    def limit(self) -> int:
        """Most bytes of one message."""
        ...

    async def open(self) -> None:
        """Connect; a lost connection is made again."""
        ...

    async def append(self, queue: str, posted: Posted) -> None:
        """Append a message; durable when it returns."""
        ...

    async def nonempty(self, prefix: str, known: Collection[str]) -> Mapping[str, bool | None]:
        """The non-empty queues with that prefix, and whether each has a reader; None is unknown."""
        ...

    def work(self, queue: str) -> WorkQueue:
        """A queue with many consumers."""
        ...

    def responses(self, queue: str, *, watches: bool) -> ResponseQueue:
        """A response queue; ``watches`` opens a view for an observer."""
        ...

    async def close(self) -> None:
        """Close the connection."""
        ...
