"""The contract of the applications' queues: what each backend, the store's and a broker's, offers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from msgspec import Struct


class Stored(Protocol):
    """A message as a queue gives it."""

    @property
    def token(self) -> int:
        """What settles it."""
        ...

    @property
    def body(self) -> bytes:
        """What was put."""
        ...

    @property
    def tries(self) -> int:
        """How often it was taken, this time included."""
        ...

    @property
    def taken_until(self) -> float:
        """Until when it is the taker's, counted from before the queue was asked."""
        ...


class QueuedMessage(Struct, frozen=True, gc=False):
    """A message as a broker's queue gives it; see ``Stored``."""

    token: int
    body: bytes
    tries: int = 1
    taken_until: float = float("inf")


class Watching(Protocol):
    """A queue that has one reader, as one who only watches sees it; another who watches has another of these."""

    async def read(self, after: int, limit: int) -> Sequence[Stored]:
        """Reads from now on; earlier events may be missed."""
        ...


NOTHING_TOLD: Mapping[int, tuple[str, bytes]] = MappingProxyType({})


class AppQueues(Protocol):
    """Queues that outlive every process; ``take`` and ``read`` wait. All raise TransportError.

    ``submissions.APP.NAME`` is taken from by many, ``replies.APP.NAME`` has one reader.
    """

    async def put(self, queue: str, bodies: Sequence[tuple[bytes, float | None]]) -> None:
        """Append messages, each with the instant at which it expires; durable when it returns.

        Raises PayloadTooLarge for what the queue can never take.
        """
        ...

    async def take(self, queue: str, limit: int, lease: float) -> Sequence[Stored]:
        """Wait for messages and take from 1 to ``limit``, in order; unsettled ones return after ``lease`` seconds.

        One that returned comes alone.
        """
        ...

    async def settle(self, queue: str, tokens: Sequence[int]) -> None:
        """These were dealt with and never return."""
        ...

    async def extend(self, queue: str, tokens: Sequence[int], lease: float) -> None:
        """Keep these for another ``lease`` seconds."""
        ...

    async def read(self, queue: str, after: int, limit: int) -> Sequence[Stored]:
        """Wait for messages of a queue that has one reader; up to ``limit``, in order, that follow token ``after``.

        With ``after`` 0 the reader begins anew with all that is not settled.
        """
        ...

    def watch(self, queue: str) -> Watching:
        """For one who stands beside the reader and settles nothing; whoever lets go of it watches no more."""
        ...

    async def standing(self, prefix: str, known: Collection[str]) -> Mapping[str, bool | None]:
        """The queues in which something stands, whose names begin so: those of ``known``, and more if they are listed
        where they are; with each whether somebody reads it now, None if that cannot be told there."""
        ...

    async def bury(
        self, queue: str, dead_letters: Sequence[tuple[int, str]], told: Mapping[int, tuple[str, bytes]] = NOTHING_TOLD
    ) -> None:
        """Move messages to the dead letters in the store, each with the reason.

        ``told`` holds by token, for a response queue, what it is told in the same commit.
        """
        ...

    def wake(self) -> None:
        """Something was put: whoever waits looks again."""
        ...

    @property
    def closed(self) -> bool:
        """Whether it is over for good: else what failed may be tried again."""
        ...

    async def close(self) -> None:
        """Refuse everything from now on, and end the takes that wait."""
        ...
