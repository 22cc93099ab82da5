"""Directives: acts that an operator or an application requests of a task."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Doubt(StrEnum):
    """An operator's choice for attempts of which it is unknown whether they were executed."""

    UNDO = "undo"
    """Undo them first, with None for the unknown result."""
    DID_NOT_HAPPEN = "did_not_happen"
    """The operator has checked that they were not executed."""


class Later(StrEnum):
    """An operator's choice for the steps that a repair sets aside."""

    UNDO = "undo"
    """Undo what can be undone first; the rest is kept."""
    KEEP = "keep"
    """Keep their effects until the whole task is undone."""


class Directive(Struct, frozen=True, kw_only=True):
    """A requested act: undo, cancel, suspend, resume, resubmit, mark_done."""

    verb: str
    actor: str
    step: str | None = None
    """For resubmit and mark_done: the key of the step; None: the step in the task's error."""
    input: bytes | None = None
    """For resubmit: the edited argument array."""
    failed_children: bool = False
    """For resubmit: whether every child step that failed is repeated, in place of one step."""
    result: bytes | None = None
    """For mark_done: the result to record."""
    doubt: Doubt | None = None
    """For resubmit: the choice for attempts in doubt; None refuses an edited input while there are any."""
    later: Later | None = None
    """For resubmit and mark_done: the choice for steps that were executed after the step's outcome was delivered."""
    expected: tuple[str, ...] = ()
    """Versions of the task, one of which it must have; empty: any."""
    reason: str | None = None
    """Why the actor asks for it, for the audit."""
    deadline: float | None = None
    """For resubmit and mark_done: the new deadline of the task; None leaves it, unless it has passed."""
    priority: int | None = None
    """For resubmit and mark_done: the new priority of the task; None leaves it."""
    batch: str | None = None
    """The id of the batch that the directive belongs to, for the audit."""
