"""The progress of a task."""

from __future__ import annotations

from msgspec import Struct

from stepward.model.pipeline_plan import Plan
from stepward.store.contract import Tally


class TaskProgress(Struct, frozen=True):
    """How many stages are completed, and of how many; as text ``3 of 7``."""

    done: int
    total: int | None
    """None for workflow code: the number of steps to come is not known."""

    def __str__(self) -> str:
        return f"{self.done}" if self.total is None else f"{self.done} of {self.total}"


def progress_of(tally: Tally, plan: Plan | None) -> TaskProgress:
    """The progress that a task's steps make; what was undone counts no more."""
    if plan is None:
        return TaskProgress(tally.completed, None)
    return TaskProgress(sum(stage.key in tally.stages for stage in plan), len(plan))
