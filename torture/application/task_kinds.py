"""The kinds of tasks that are submitted: how each must end, and what it must have done by then."""

from __future__ import annotations

from dataclasses import dataclass

from stepward.model.states import TaskState

Stages = tuple[tuple[str, ...], ...]
"""Effects that follow one another; those of one stage may happen in any order."""


@dataclass(frozen=True, slots=True)
class FaultKind:
    """The required end of the tasks of one workflow."""

    end: TaskState
    stages: Stages
    weight: int = 0
    """How often it is submitted; 0: others than the load start it."""
    posted: bool = False
    """Whether it may also come through the queue."""
    is_whole: bool = True
    """Whether every effect must have happened, be it undone by now or not."""
    booked: bool = False
    """Whether it writes a row in the transaction of a step."""


KINDS = {
    "plain": FaultKind(TaskState.PROCESSED, (("a",), ("b",), ("c",)), 4, posted=True),
    "parallel": FaultKind(TaskState.PROCESSED, (("a",), ("b", "c", "d"), ("e",)), 3, posted=True),
    "refused": FaultKind(TaskState.UNDONE, (("a",), ("b",), ("c",)), 3, posted=True),
    "broken": FaultKind(TaskState.UNDONE, (("a",), ("b", "c")), 2, posted=True),
    "slow": FaultKind(TaskState.PROCESSED, (("a",), ("hang",), ("c",)), 2, posted=True),
    "unanswered": FaultKind(TaskState.PROCESSED, (("a",), ("lose",), ("c",)), 2, posted=True),
    "parent": FaultKind(TaskState.PROCESSED, (("a",), ("b",)), 2, posted=True),
    "child": FaultKind(TaskState.PROCESSED, (("d",), ("e",))),
    "booking": FaultKind(TaskState.PROCESSED, (("a",), ("b",)), 4, posted=True, booked=True),
    "timed": FaultKind(TaskState.PROCESSED, (("a",), ("b",)), 2, posted=True),
    "asked": FaultKind(TaskState.PROCESSED, (("a",), ("b",)), 2),
    "withdrawn": FaultKind(TaskState.CANCELLED, (("a",), ("b",), ("c",)), 2, is_whole=False),
    "returned": FaultKind(TaskState.UNDONE, (("a",), ("b",), ("c",)), 2),
    "stuck": FaultKind(TaskState.ERROR, (("a",),), 1, posted=True),
    "visiting": FaultKind(TaskState.PROCESSED, (("a",), ("v",), ("b",)), 4, posted=True),
    "tick": FaultKind(TaskState.PROCESSED, (("a",),)),
}
"""By the name of the workflow."""
