"""Completions: outcomes of steps that the holder of a completion token reports from outside."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Completion(Struct, frozen=True, kw_only=True):
    """The reported outcome of one attempt of a step: its result, or its error."""

    task: str
    """The task's uid."""
    run: int
    key: str
    attempt: int
    output: bytes | None = None
    error: bytes | None = None
    """A JSON object: message, type, data."""
    actor: str

    @property
    def act(self) -> str:
        """The act's name in the audit."""
        return "complete" if self.error is None else "fail"


class RefusalReason(StrEnum):
    """The reason why a completion changed nothing."""

    UNREADABLE = "unreadable"
    FOREIGN = "foreign"
    FORGED = "forged"
    UNFIT = "unfit"
    """The result does not have the type that the operation declares; the token can be used again."""
    GONE = "gone"
    USED = "used"
    REPEATED = "repeated"
    OVER = "over"
    UNDONE = "undone"
    LATE = "late"


class Refusal(Struct, frozen=True):
    """A completion that changed nothing, with the reason in a word and in one line."""

    reason: RefusalReason
    message: str
