"""The complete-by of a task's row, out of its steps."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from stepward.model.records import Step
from stepward.model.states import StepKind, StepState
from stepward.model.tasks.complete_by import of_steps


def step(state: StepState, **fields: Any) -> Step:
    return Step(task="t", run=1, key="a", number=1, name="svc.do", kind=StepKind.OPERATION, state=state, **fields)


def test_the_latest_end_counts_of_what_runs_or_is_to_be_repeated() -> None:
    steps = [
        step(StepState.RUNNING, complete_by=100.0),
        step(StepState.RUNNING, complete_by=300.2),
        step(StepState.TO_REPEAT, repeat_at=150.0, complete_seconds=60.0, complete_by=900.0),
        step(StepState.COMPLETED, complete_by=800.0),
        step(StepState.NOT_STARTED),
    ]
    assert {of_steps(order) for order in permutations(steps)} == {301.0}
    assert of_steps(steps[3:]) is None
