"""Completions: outcomes of steps that are finished from outside, by the holder of their token."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Completion(Struct, frozen=True, kw_only=True):
    """What somebody outside says of one attempt of a step: its result, or its error."""

    task: str
    """The uid."""
    run: int
    key: str
    attempt: int
    output: bytes | None = None
    error: bytes | None = None
    """A JSON object: message, type, data."""
    actor: str

    @property
    def act(self) -> str:
        """The word for it in the audit."""
        return "complete" if self.error is None else "fail"


class RefusalReason(StrEnum):
    """Why a completion changed nothing."""

    UNREADABLE = "unreadable"
    FOREIGN = "foreign"
    FORGED = "forged"
    UNFIT = "unfit"
    """The result is not of the type that the operation declares; the token can be used again."""
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
