"""Queues in the store, for Agents in other processes without a broker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct


class StoredMessage(Struct, frozen=True):
    """A message taken from a queue in the store; its ``token`` settles it."""

    token: int
    body: bytes
    tries: int
    """How often it was taken, this time included."""
    taken_until: float = float("inf")
    """The end of its lease by the store's clock, counted from before the query; a message that is only read has
    none."""
    expires_at: float | None = None
    """None: the store drops what has expired, and does not return the instant."""


class MessageStore(Protocol):
    """Queues in the store, for Agents in other processes without a broker."""

    def now(self) -> float:
        """The store's clock."""
        ...

    async def put(self, queue: str, bodies: Sequence[tuple[bytes, float | None]]) -> None:
        """Appends messages, each with the instant at which it expires."""
        ...

    async def take(self, queue: str, limit: int, lease: float) -> list[StoredMessage]:
        """Takes up to ``limit`` messages that are neither expired nor taken; they return after ``lease`` seconds.

        A message that returned comes first and alone: it may have ended its last consumer, and other messages must not
        be counted with it.
        """
        ...

    async def settle(self, queue: str, tokens: Sequence[int]) -> None:
        """Deletes messages that were processed."""
        ...

    async def answer(
        self, queue: str, bodies: Sequence[tuple[bytes, float | None]], asked: str, tokens: Sequence[int]
    ) -> None:
        """``put``, and ``settle`` of messages of the queue ``asked`` that these answer, in one transaction."""
        ...

    async def extend(self, queue: str, tokens: Sequence[int], lease: float) -> Sequence[int]:
        """Extends the leases of messages by ``lease`` seconds; returns the tokens that are no longer in the queue."""
        ...

    async def withdraw(self, queue: str, beginning: bytes, part: bytes) -> list[StoredMessage]:
        """Deletes the requests that have this beginning, up to their task, and hold that part; returns them, taken or
        not.

        Deletes none if more than one of them was taken.
        """
        ...

    async def read(self, queue: str, after: int, limit: int, reader: str = "") -> list[StoredMessage]:
        """Messages of a queue, in order, after the token ``after``, without taking them.

        ``after`` 0 starts at the beginning; otherwise it is the last token that the reader was given. Readers of one
        queue within a process each give their own name. ``settle`` deletes.
        """
        ...

    async def bury(
        self, queue: str, dead_letters: Sequence[tuple[int, str]], events: Sequence[tuple[str, bytes]] = ()
    ) -> None:
        """Moves messages (tokens, each with the reason) to the dead letters, and raises one alert for each queue until
        it is acknowledged.

        ``events`` are status events, each with its queue, that are put in the same commit.
        """
        ...

    async def bury_bodies(
        self, queue: str, dead_letters: Sequence[tuple[bytes, str, int]], events: Sequence[tuple[str, bytes]] = ()
    ) -> None:
        """The same for messages of a broker: bodies, each with the reason and the number of tries."""
        ...

    async def filled(self, queues: Sequence[str]) -> set[str]:
        """Those of the queues that have a message to take or read."""
        ...

    async def nonempty(self, prefix: str, limit: int) -> list[str]:
        """Up to ``limit`` queues with that prefix that have messages, taken or not, by name."""
        ...

    async def adopt(self, queue: str, heir: str) -> int:
        """Moves the messages of a dead instance's queue to the queue ``heir``; returns how many."""
        ...
