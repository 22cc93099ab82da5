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
