"""Steps that a task keeps although it awaits them no more, found by their request and not by a look at each of them."""

from __future__ import annotations

from collections.abc import Sequence

from stepward.model.effects import asked_as
from stepward.model.records import Step


class StepIndex:
    """The steps of one list by the run and key under which they were requested.

    It reads what was added to the list since the last search, and all of it where another list took its place. Steps
    stay where they are in such a list, and are requested under one key for as long as they are in memory.
    """

    __slots__ = ("_found", "_read", "_steps")

    def __init__(self) -> None:
        self._steps: Sequence[Step] = ()
        self._found: dict[tuple[int, str], list[Step]] = {}
        self._read = 0

    def find(self, steps: Sequence[Step], run: int, key: str) -> Sequence[Step]:
        """Those of ``steps`` that were requested so, in their order."""
        if self._steps is not steps:
            self._steps, self._found, self._read = steps, {}, 0
        if self._read < len(steps):
            added = steps[self._read :]
            self._read += len(added)
            for step in added:
                self._found.setdefault((step.run, asked_as(step)), []).append(step)
        return self._found.get((run, key), ())


class KeptSteps:
    """Indexes of the steps of a task that were abandoned, set aside by a repair, or are undone."""

    __slots__ = ("abandoned", "set_aside", "undone")

    def __init__(self) -> None:
        self.abandoned, self.set_aside, self.undone = StepIndex(), StepIndex(), StepIndex()
