"""Steps that are finished from outside, by whoever holds their completion token."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from stepward.model.records import Step


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


class CompletionStore(Protocol):
    """What finishing steps from outside needs of the store."""

    async def completion_key(self, fresh: bytes) -> bytes:
        """The key with which this store's completion tokens are signed; ``fresh`` is it if there was none."""
        ...

    async def completed_step(self, task: str, run: int, key: str) -> Step | None:
        """The step that a completion is about, as it stands; None if there is none such."""
        ...

    async def complete(self, completion: Completion) -> Refusal | None:
        """End the attempt with that outcome if it still runs, before its complete-by; None says so.

        The outcome is recorded and not delivered, and the task's owner is told by a row in its inbox. Whatever comes of
        it is audited.
        """
        ...

    async def refuse_completion(self, completion: Completion, refusal: Refusal) -> None:
        """Audit a try that changes nothing else: a token that this store did not sign, a result that does not fit."""
        ...
