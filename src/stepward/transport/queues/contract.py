"""The contract of the applications' queues, implemented by the store and by each broker."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from msgspec import Struct

from stepward.model.messages.change_kinds import EVERYTHING, Kinds


class Stored(Protocol):
    """A message as a queue returns it."""

    @property
    def token(self) -> int:
        """The handle by which it is settled."""
        ...

    @property
    def body(self) -> bytes:
        """The bytes that were put."""
        ...

    @property
    def tries(self) -> int:
        """How often it was taken, this time included."""
        ...

    @property
    def taken_until(self) -> float:
        """The end of the lease, counted from before the queue was asked."""
        ...

    @property
    def expires_at(self) -> float | None:
        """The instant at which it expires, for whatever passes it on; None for never, and from a queue in the store."""
        ...


class QueuedMessage(Struct, frozen=True, gc=False):
    """A message as a broker's queue returns it."""

    token: int
    body: bytes
    tries: int = 1
    taken_until: float = float("inf")
    expires_at: float | None = None


class Watching(Protocol):
    """A view of a response queue for an observer beside its reader; each observer has a view of its own."""

    async def read(self, after: int, limit: int) -> Sequence[Stored]:
        """Reads from now on; earlier events may be missed."""
        ...


NO_EVENTS: Mapping[int, tuple[str, bytes]] = MappingProxyType({})


class AppQueues(Protocol):
    """Durable queues of the application; ``take`` and ``read`` wait. All methods raise TransportError.

    ``submissions.APP.NAME`` has many consumers, ``replies.APP.NAME`` has one reader.
    """

    async def put(self, queue: str, bodies: Sequence[tuple[bytes, float | None]]) -> None:
        """Append messages, each with the instant at which it expires; durable when it returns.

        Raises PayloadTooLarge for a message larger than the queue can ever take.
        """
        ...

    async def take(self, queue: str, limit: int, lease: float) -> Sequence[Stored]:
        """Wait for messages and take from 1 to ``limit``, in order; unsettled ones return after ``lease`` seconds.

        A message that returned is given alone.
        """
        ...

    async def settle(self, queue: str, tokens: Sequence[int]) -> None:
        """Acknowledge these messages: they never return."""
        ...

    async def extend(self, queue: str, tokens: Sequence[int], lease: float) -> None:
        """Extend the leases of these by ``lease`` seconds from now."""
        ...

    async def read(self, queue: str, after: int, limit: int) -> Sequence[Stored]:
        """Wait for messages of a queue that has one reader: up to ``limit``, in order, after token ``after``.

        With ``after`` 0 the reader starts again with everything that is not settled.
        """
        ...

    def watch(self, queue: str) -> Watching:
        """A view for an observer, which settles nothing; it ends when it is garbage-collected."""
        ...

    async def nonempty(self, prefix: str, known: Collection[str]) -> Mapping[str, bool | None]:
        """The non-empty queues whose names begin with ``prefix``, and whether each has a reader (None: unknown).

        Names in ``known`` are checked; others are included where the backend can list queues.
        """
        ...

    async def bury(
        self, queue: str, dead_letters: Sequence[tuple[int, str]], events: Mapping[int, tuple[str, bytes]] = NO_EVENTS
    ) -> None:
        """Move messages to the dead letters in the store, each with the reason.

        ``events`` holds by token, for a response queue, the event that is appended in the same commit.
        """
        ...

    def wake(self, kinds: Kinds = EVERYTHING) -> None:
        """Wake everything that waits for a message of these kinds: something was put."""
        ...

    @property
    def closed(self) -> bool:
        """Whether it is closed for good; if not, a failed call may be tried again."""
        ...

    async def close(self) -> None:
        """Refuse all further calls, and end the waiting takes."""
        ...
