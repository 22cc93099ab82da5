"""Directives: what an operator or an application asks of a task."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Doubt(StrEnum):
    """An operator's word on attempts of which nobody knows whether they acted."""

    UNDO = "undo"
    """Undo them first, with None for the result that nobody knows."""
    DID_NOT_HAPPEN = "did_not_happen"
    """The operator has looked: they did nothing."""


class Later(StrEnum):
    """An operator's word on what a repair sets aside."""

    UNDO = "undo"
    """Undo what can be undone first; the rest is kept."""
    KEEP = "keep"
    """What it did stands, until the whole task is undone."""


class Directive(Struct, frozen=True, kw_only=True):
    """What an operator or application asks of a task: undo, cancel, suspend, resume, resubmit, mark_done."""

    verb: str
    actor: str
    step: str | None = None
    """resubmit, mark_done: the key of the step; None: the one that the task's error names."""
    input: bytes | None = None
    """resubmit: the edited argument array."""
    result: bytes | None = None
    """mark_done: the result to record."""
    doubt: Doubt | None = None
    """resubmit: what is to become of attempts in doubt; None refuses an edited input while there are any."""
    later: Later | None = None
    """resubmit, mark_done: what is to become of what was done after the step's outcome was delivered."""
    deadline: float | None = None
    """resubmit, mark_done: by when the whole task is to end from now on; None leaves it, unless it is past."""
