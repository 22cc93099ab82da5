"""Dead letters of what came over brokers: they lie in the store, where operators look.

A process that has no store, such as a storefront that knows the broker alone, sends them through a queue of the
broker, from which a Scheduler's process buries them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Protocol

import msgspec
from msgspec import Meta, Struct

from stepward.errors import Refused, StoreError, TransportError

LARGEST = 64 * 1024 * 1024
"""Of what is larger the store keeps the beginning: no setting lets a message be larger than this."""
IN_TEXT = 7 / 10
"""How much fits into a message where bytes are written as text."""
LONGEST_REASON = 2000
"""Of a longer one the beginning travels: it may quote what is foreign."""


class BrokerDeadLetter(Struct, frozen=True, gc=False):
    """A message that nobody can use."""

    body: bytes
    reason: str
    tries: int = 1
    told: tuple[str, bytes] | None = None
    """A response queue, and what it is told in the commit that buries the letter."""


class Sealed(Struct, frozen=True):
    """A letter on its way to the store: with what whoever can post there writes, only what every store takes."""

    queue: Annotated[str, Meta(min_length=1, max_length=300, pattern=r"\A[^\x00]*\Z")]
    body: bytes
    reason: str
    tries: Annotated[int, Meta(ge=0, lt=2**31)]


class DeadLetters(Protocol):
    """What of a store buries; see its contract."""

    async def bury_bodies(
        self, queue: str, dead_letters: Sequence[tuple[bytes, str, int]], told: Sequence[tuple[str, bytes]] = ()
    ) -> None:
        """Bury what never stood in the store."""
        ...


Bury = Callable[[str, Sequence[BrokerDeadLetter]], Awaitable[None]]
"""Keeps messages of a queue that nobody can use for an operator. Raises TransportError."""


def burying(store: DeadLetters) -> Bury:
    """What buries in that store."""

    async def bury(queue: str, dead_letters: Sequence[BrokerDeadLetter]) -> None:
        try:
            told = [each.told for each in dead_letters if each.told is not None]
            await store.bury_bodies(
                queue, [(each.body[:LARGEST], each.reason, each.tries) for each in dead_letters], told
            )
        except StoreError as error:
            raise TransportError(f"queue {queue}: expected the store to take a dead letter, found: {error}") from error

    return bury


def dead_letters_queue(app: str) -> str:
    """The broker's queue of letters on their way to the store."""
    return f"letters.{app}.store"


def sealed(queue: str, dead_letter: BrokerDeadLetter, limit: int) -> bytes:
    """A letter as it travels; of a large one its beginning."""
    reason = dead_letter.reason[:LONGEST_REASON]
    body = dead_letter.body[: int(limit * IN_TEXT) - len(queue) - 4 * len(reason)]
    return msgspec.json.encode(Sealed(queue, body, reason, dead_letter.tries))


async def bury_sealed(store: DeadLetters, body: bytes, queue: str) -> None:
    """Bury the letter that travelled where it came from; what is none, or is refused, lies under ``queue`` itself."""
    bury = burying(store)
    origin, dead_letter = _opened(body, queue)
    try:
        await bury(origin, [dead_letter])
    except Refused as error:
        await bury(queue, [BrokerDeadLetter(body, str(error))])


def _opened(body: bytes, queue: str) -> tuple[str, BrokerDeadLetter]:
    try:
        found = msgspec.json.decode(body, type=Sealed)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return queue, BrokerDeadLetter(body, f"letter: expected one on its way to the store, found other: {error}")
    return found.queue, BrokerDeadLetter(found.body, found.reason, found.tries)
