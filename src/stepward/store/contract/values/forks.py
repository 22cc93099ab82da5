"""Tasks that are forked from ended ones."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from stepward.model.records import Step, Task


class Fork(Struct, frozen=True, kw_only=True):
    """A new task with the beginning of another's record."""

    origin: Task
    """The ended task, as it was read: it must not have changed since."""
    step: str
    """The first step that is not taken over."""
    task: Task
    steps: Sequence[Step]
    """The rows of the new task."""
    released: Sequence[Step] = ()
    """Rows of the origin whose undo the new task has taken over."""
    actor: str = ""
    reason: str | None = None
    expected: Sequence[str] = ()
    """Versions of the origin, one of which it must have; empty: any."""
