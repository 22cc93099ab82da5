"""Rejected messages, of another store or without a valid proof: counted, reported at intervals, never processed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from stepward.events import Observers

REJECTED = "transport.rejected"
REPORT_SECONDS = 60.0
"""Least seconds between two reports of one reason: a flood is counted, not logged line by line."""
NEVER = float("-inf")


class RejectionReason(StrEnum):
    """Why a message is rejected; also the kind of the alert."""

    FOREIGN_STORE = "foreign_store"
    OLD_WIRE = "old_wire"
    UNPROVEN = "unproven_message"


class Rejection(Struct, frozen=True, gc=False):
    """A rejected message."""

    reason: RejectionReason
    message: str
    """One line: what was expected, what was found, what to do."""


class Rejected(Protocol):
    """The parts of a message that show why it is rejected."""

    @property
    def store(self) -> str | None:
        """The store identity in the message."""
        ...

    @property
    def proof(self) -> str | None:
        """The message's proof."""
        ...

    @property
    def source(self) -> str:
        """The message's source."""
        ...

    @property
    def correlationid(self) -> str:
        """The task's uid."""
        ...

    @property
    def step(self) -> str:
        """The step's key."""
        ...


def rejection(message: Rejected, ours: str) -> Rejection:
    """The reason for which the store ``ours`` rejects a message that is not genuine."""
    source = f"{message.source!r:.150}"
    if message.store is None or message.proof is None:
        found = f"one from {source} without store or proof, as version 1 wrote it"
        return Rejection(
            RejectionReason.OLD_WIRE, f"message: expected version 2 of the wire, found {found}; upgrade that process"
        )
    if message.store != ours:
        found = f"one of the store {message.store!r:.60} from {source}"
        advice = "two applications of one name share the broker: give one a prefix (?prefix=NAME in its address)"
        return Rejection(
            RejectionReason.FOREIGN_STORE, f"message: expected one of the store {ours!r}, found {found}; {advice}"
        )
    what = f"step {message.step!r:.150} of task {message.correlationid!r:.100}"
    return Rejection(
        RejectionReason.UNPROVEN,
        f"message about {what}: expected the proof of its request to that Agent, found another, from {source}; find "
        "the program that writes there",
    )


class Rejections:
    """Counts rejected messages, and reports each reason at once and then at most every ``REPORT_SECONDS``.

    ``now`` is any clock in seconds.
    """

    def __init__(self, observers: Observers, now: Callable[[], float]) -> None:
        self._observers = observers
        self._now = now
        self._counts: Counter[RejectionReason] = Counter()
        self._reported_at: dict[RejectionReason, float] = {}

    def reject(self, queue: str, rejection: Rejection) -> None:
        """Count a message of a queue."""
        reason, now = rejection.reason, self._now()
        self._counts[reason] += 1
        if now >= self._reported_at.get(reason, NEVER) + REPORT_SECONDS:
            self._reported_at[reason] = now
            self._observers.emit(
                REJECTED, queue=queue, reason=reason.value, error=rejection.message, count=self._counts[reason]
            )
