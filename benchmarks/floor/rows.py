"""The rows of a ten-step task, as the product writes them."""

from __future__ import annotations

from stepward.model.records import Step, Task
from stepward.model.states import StepKind, StepState, TaskState
from stepward.store.contract import Finish

INSTANCE = "floor"
TASK_INPUT = b'["some text"]'
INPUT = b'["some text",7]'
OUTPUT = b'{"ok":true,"n":7}'
RESULT = b"45"
LATER = 1e10
"""A time that never comes while something is measured."""


def task_row(uid: str) -> Task:
    """A task that is born claimed."""
    return Task(
        uid=uid,
        id=uid,
        workflow="ten",
        version="1",
        state=TaskState.PROCESSING,
        locked_by=INSTANCE,
        input=TASK_INPUT,
        created_at=1.0,
        started_at=1.0,
    )


def step_row(uid: str, number: int, *, complete_by: float = LATER, watched: bool = False) -> Step:
    """A step that runs."""
    return Step(
        task=uid,
        run=1,
        key=f"svc.act/{number}",
        number=number,
        name="svc.act",
        kind=StepKind.OPERATION,
        state=StepState.RUNNING,
        agent="svc",
        attempt=1,
        complete_by=complete_by,
        complete_seconds=30.0,
        started_at=1.0,
        input=INPUT,
        watched=watched,
    )


def finish_row(uid: str, number: int) -> Finish:
    """A step's result."""
    return Finish(uid, 1, f"svc.act/{number}", 1, StepState.COMPLETED, OUTPUT, None, False, number, 2.0)
