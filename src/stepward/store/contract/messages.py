"""Queues in the store, for Agents in other processes without a broker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct


class StoredMessage(Struct, frozen=True):
    """A message taken from a queue in the store; ``token`` settles it."""

    token: int
    body: bytes
    tries: int
    """How often it was taken, this time included."""
    taken_until: float = float("inf")
    """By the store's clock, counted from before the store was asked; what is only read is nobody's."""


class MessageStore(Protocol):
    """Queues in the store, for Agents in other processes without a broker."""

    def now(self) -> float:
        """The store's clock."""
        ...

    async def put(self, queue: str, bodies: Sequence[tuple[bytes, float | None]]) -> None:
        """Append messages, each with the instant at which it expires."""
        ...

    async def take(self, queue: str, limit: int, lease: float) -> list[StoredMessage]:
        """Take up to ``limit`` messages that are neither expired nor taken; they return after ``lease`` seconds.

        One that returned comes before fresh ones and alone: it may be what ended its last taker, and must not have
        others counted with it.
        """
        ...

    async def settle(self, queue: str, tokens: Sequence[int]) -> None:
        """Delete messages that were dealt with."""
        ...

    async def extend(self, queue: str, tokens: Sequence[int], lease: float) -> Sequence[int]:
        """Keep messages taken for another ``lease`` seconds; those of the tokens that are in the queue no more."""
        ...

    async def withdraw(self, queue: str, beginning: bytes, part: bytes) -> list[StoredMessage]:
        """Delete the requests that begin so, as far as their task, and hold that part; what they were, taken or not.

        Where more than one of them was taken it deletes none.
        """
        ...

    async def read(self, queue: str, after: int, limit: int, reader: str = "") -> list[StoredMessage]:
        """Messages of a queue, in order, from the token after ``after`` on; none is taken by it.

        With ``after`` 0 the reader begins anew, else it is the last token that it was given. Those who read one queue
        side by side in a process each give a name of their own. ``settle`` deletes.
        """
        ...

    async def bury(
        self, queue: str, dead_letters: Sequence[tuple[int, str]], told: Sequence[tuple[str, bytes]] = ()
    ) -> None:
        """Move messages (tokens, each with the reason) to the dead letters; an operator is alerted, once per queue
        until the alert is acknowledged. ``told`` are status events, each for a queue, that are put in the same commit.
        """
        ...

    async def bury_bodies(
        self, queue: str, dead_letters: Sequence[tuple[bytes, str, int]], told: Sequence[tuple[str, bytes]] = ()
    ) -> None:
        """The same for what never stood in the store: bodies from a broker's queue, each with reason and tries."""
        ...

    async def filled(self, queues: Sequence[str]) -> set[str]:
        """Those of the queues from which something may be taken, or read."""
        ...

    async def standing(self, prefix: str, limit: int) -> list[str]:
        """Up to ``limit`` queues whose name begins so and in which something stands, taken or not; by name."""
        ...

    async def adopt(self, queue: str, heir: str) -> int:
        """Move what stands in a dead instance's queue to ``heir``; how many."""
        ...
