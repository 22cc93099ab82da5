"""Updates that a task is asked for from outside, and its answers."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct


class UpdateState(StrEnum):
    """How far an update is."""

    ASKED = "asked"
    ACCEPTED = "accepted"
    REJECTED = "rejected"


class AnswerRow(Struct, frozen=True, gc=False):
    """An answer to an update that was asked for and is not answered yet."""

    task: str
    id: str
    state: UpdateState
    answer: bytes
    at: float


class UpdateAct(Struct, frozen=True):
    """An update as it is asked for."""

    task_id: str
    id: str
    name: str
    body: bytes
    """The ``UpdateMessage`` as JSON."""
    actor: str | None = None
    """The actor in the audit; None: it is not audited."""
    expected: tuple[str, ...] = ()
    """Versions of the task, one of which it must have; empty: any."""
    reason: str | None = None


class UpdateRow(Struct, frozen=True):
    """An update that was asked for under an id, answered at most once."""

    task: str
    id: str
    name: str
    state: UpdateState
    answer: bytes | None
    """The JSON of the result, or an error object; None until it is answered."""
    asked_at: float
    answered_at: float | None


def update_row(row: Sequence[Any]) -> UpdateRow:
    """The record of a row of ``update_request``."""
    task, id, name, state, *answer = row
    return UpdateRow(task, id, name, UpdateState(state), *answer)
