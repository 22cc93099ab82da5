"""Dead letters of broker messages: they are kept in the store, where operators look.

A process without a store, such as a storefront that knows only the broker, sends them through a queue of the broker,
from which a Scheduler's process moves them into the store.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Protocol

import msgspec
from msgspec import Meta, Struct

from stepward.errors import Refused, StoreError, TransportError

LARGEST = 64 * 1024 * 1024
"""Most bytes kept of a dead letter; no setting allows a larger message."""
IN_TEXT = 7 / 10
"""Most bytes of a body that fit into a message in which bytes are written as text."""
LONGEST_REASON = 2000
"""Most characters of a reason that is sent; it may quote foreign data."""


class BrokerDeadLetter(Struct, frozen=True, gc=False):
    """A message that cannot be processed."""

    body: bytes
    reason: str
    tries: int = 1
    event: tuple[str, bytes] | None = None
    """A response queue, and the event that is appended to it in the commit that moves the message."""


class DeadLetterMessage(Struct, frozen=True):
    """A dead letter on its way to the store; every field is limited to what all stores accept."""

    queue: Annotated[str, Meta(min_length=1, max_length=300, pattern=r"\A[^\x00]*\Z")]
    body: bytes
    reason: str
    tries: Annotated[int, Meta(ge=0, lt=2**31)]


class DeadLetters(Protocol):
    """The part of a store that keeps dead letters."""

    async def bury_bodies(
        self, queue: str, dead_letters: Sequence[tuple[bytes, str, int]], event: Sequence[tuple[str, bytes]] = ()
    ) -> None:
        """Insert dead letters that were never messages of the store."""
        ...


Bury = Callable[[str, Sequence[BrokerDeadLetter]], Awaitable[None]]
"""Moves unusable messages of a queue to the dead letters. Raises TransportError."""


def burying(store: DeadLetters) -> Bury:
    """The function that inserts dead letters into that store."""

    async def bury(queue: str, dead_letters: Sequence[BrokerDeadLetter]) -> None:
        try:
            event = [each.event for each in dead_letters if each.event is not None]
            await store.bury_bodies(
                queue, [(each.body[:LARGEST], each.reason, each.tries) for each in dead_letters], event
            )
        except StoreError as error:
            raise TransportError(f"queue {queue}: expected the store to take a dead letter, found: {error}") from error

    return bury


def dead_letters_queue(app: str) -> str:
    """The broker's queue of dead letters on their way to the store."""
    return f"letters.{app}.store"


def dead_letter_message(queue: str, dead_letter: BrokerDeadLetter, limit: int) -> bytes:
    """A dead letter as a message; of a large one the beginning."""
    reason = dead_letter.reason[:LONGEST_REASON]
    body = dead_letter.body[: int(limit * IN_TEXT) - len(queue) - 4 * len(reason)]
    return msgspec.json.encode(DeadLetterMessage(queue, body, reason, dead_letter.tries))


async def bury_message(store: DeadLetters, body: bytes, queue: str) -> None:
    """Insert the dead letter under its own queue; one that cannot be read or inserted is kept under ``queue``."""
    bury = burying(store)
    origin, dead_letter = _opened(body, queue)
    try:
        await bury(origin, [dead_letter])
    except Refused as error:
        await bury(queue, [BrokerDeadLetter(body, str(error))])


def _opened(body: bytes, queue: str) -> tuple[str, BrokerDeadLetter]:
    try:
        found = msgspec.json.decode(body, type=DeadLetterMessage)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return queue, BrokerDeadLetter(body, f"letter: expected one on its way to the store, found other: {error}")
    return found.queue, BrokerDeadLetter(found.body, found.reason, found.tries)
