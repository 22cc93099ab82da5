"""Names of generations and of child tasks."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from stepward.model.effects import child_id, former_generations
from stepward.model.records import Step, Task
from stepward.model.states import StepKind, StepState


def step(key: str, **fields: Any) -> Step:
    usual: dict[str, Any] = {"run": 1, "number": 1, "kind": StepKind.OPERATION, "state": StepState.FAILED}
    return Step(task="t", key=key, name="svc.do", **usual | fields)


def test_the_highest_set_aside_generation_and_its_last_attempt_count() -> None:
    rows = [
        step("svc.do/1~1", set_aside_at=1.0, generation=0, attempt=3),
        step("svc.do/1~2", set_aside_at=2.0, generation=1, attempt=4),
        step("svc.do/1~3", set_aside_at=3.0, generation=1, attempt=5),
        step("svc.do/1", generation=2, attempt=6),
    ]
    for order in permutations(rows):
        (former,) = former_generations(order).values()
        assert (former.generation, former.attempt) == (1, 5)


def test_a_child_is_named_after_its_run_and_generation() -> None:
    parent = Task(uid="u", id="order-1", workflow="order", version="1", created_at=0.0)
    child = step("pay/1", kind=StepKind.CHILD)
    ids = [
        child_id(parent, child),
        child_id(parent, step("pay/1", kind=StepKind.CHILD, run=2)),
        child_id(parent, step("pay/1", kind=StepKind.CHILD, generation=1)),
        child_id(parent, step("pay/1", kind=StepKind.CHILD, run=2, generation=1)),
    ]
    assert ids == ["order-1/pay/1", "order-1/2/pay/1", "order-1/pay/1#1", "order-1/2/pay/1#1"]
