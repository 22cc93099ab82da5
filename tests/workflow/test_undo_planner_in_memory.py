"""The planner that stays in memory decides as one that reads every row each time."""

from __future__ import annotations

import random
from itertools import count

import pytest
from msgspec.structs import replace

from stepward.model.effects import needs_undo, undo_step
from stepward.model.records import Step
from stepward.model.states import StepKind, StepState
from stepward.workflow import undo_planner
from stepward.workflow.undo_planner import Barred, Finished, StartUndo, Stuck, UndoOrder, plan, plan_abandoned

NOW = 1000.0
OUTCOMES = [StepState.COMPLETED, StepState.FAILED, StepState.ABANDONED, StepState.SKIPPED]
UNDER_WAY = [StepState.NOT_STARTED, StepState.RUNNING, StepState.TO_REPEAT]


def made(chance: random.Random, number: int) -> Step:
    state = chance.choice(OUTCOMES + UNDER_WAY)
    ran = state not in (StepState.NOT_STARTED, StepState.SKIPPED)
    ended = state in (StepState.COMPLETED, StepState.FAILED)
    return Step(
        task="t",
        run=chance.choice([1, 1, 2]),
        key=f"s.do/{number}",
        number=number,
        name="s.do",
        kind=chance.choice([StepKind.OPERATION, StepKind.OPERATION, StepKind.CHILD]),
        state=state,
        agent="s",
        complete_seconds=10.0,
        input=b"[null]",
        attempt=int(ran),
        started_at=NOW - 5 if ran else None,
        finished_at=NOW - 1 if ended else None,
        complete_by=NOW + chance.choice([-3, 3]) if ran else None,
        in_doubt=chance.random() < 0.3,
        has_undo=chance.random() < 0.8,
        irreversible=chance.random() < 0.01,
        set_aside_at=NOW - 2 if chance.random() < 0.02 else None,
        ordinal=number * 7 % 31 if ended and chance.random() < 0.8 else None,
    )


def happen(chance: random.Random, steps: list[Step]) -> None:
    """An answer comes: to an undo, or to an attempt that was under way."""
    step = chance.choice(steps)
    if step.state not in (StepState.RUNNING, StepState.TO_REPEAT, StepState.ABANDONED) or step.finished_at is not None:
        return
    step.finished_at = NOW
    step.in_doubt = chance.random() < 0.3
    if step.state is not StepState.ABANDONED:
        step.state = chance.choice([StepState.COMPLETED, StepState.FAILED])


@pytest.mark.parametrize("planner", [plan, plan_abandoned])
@pytest.mark.parametrize("seed", range(60))
def test_a_planner_that_is_kept_decides_as_a_new_one(planner: object, seed: int) -> None:
    chance = random.Random(seed)
    steps = [made(chance, number) for number in range(1, chance.choice([5, 40]))]
    order = UndoOrder(steps)
    for turn in count():
        assert turn < 1000
        now = NOW + turn / 10
        decided, new = (
            (order.plan(now), plan(steps, now))
            if planner is plan
            else (order.plan_abandoned(now), plan_abandoned(steps, now))
        )
        assert decided == new
        if isinstance(decided, Finished | Stuck | Barred):
            break
        if isinstance(decided, StartUndo):
            undo = undo_step(decided.step)
            undo.state = StepState.RUNNING
            steps.append(undo)
        for step in steps:
            if step.kind is StepKind.UNDO and step.state is StepState.RUNNING and chance.random() < 0.5:
                step.state = StepState.COMPLETED
                order.undone_by(step).state = StepState.UNDONE
        if chance.random() < 0.3:
            happen(chance, [step for step in steps if step.kind is not StepKind.UNDO])


def test_steps_that_never_began_are_named_once() -> None:
    steps = [step for step in (made(random.Random(number), number) for number in range(50)) if not step.irreversible]
    order = UndoOrder(steps)
    waiting = [step for step in steps if step.state is StepState.NOT_STARTED]
    assert waiting and order.unstarted() == waiting
    assert order.unstarted() == []


def test_steps_that_need_no_undo_are_looked_at_without_a_call_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Step] = []

    def noted(step: Step) -> bool:
        asked.append(step)
        return needs_undo(step)

    monkeypatch.setattr(undo_planner, "needs_undo", noted)
    template = made(random.Random(1), 1)
    steps = [
        replace(template, key=f"s.do/{n}", number=n, kind=StepKind.OPERATION, state=StepState.RUNNING, has_undo=False)
        for n in range(100)
    ]
    assert isinstance(UndoOrder([replace(step, irreversible=False) for step in steps]).plan(NOW), Finished)
    assert asked == []


def test_a_row_that_was_added_since_is_undone_in_its_place() -> None:
    template = made(random.Random(1), 1)
    done = {"run": 1, "kind": StepKind.OPERATION, "state": StepState.COMPLETED, "has_undo": True, "irreversible": False}
    ran = {"attempt": 1, "started_at": NOW - 5, "complete_by": NOW - 3, "finished_at": NOW - 1, "set_aside_at": None}
    steps = [replace(template, key=f"s.do/{n}", number=n, ordinal=n, **done, **ran) for n in range(1, 4)]
    order = UndoOrder(steps)
    assert order.plan(NOW) == StartUndo(steps[-1])
    steps.append(newer := replace(steps[-1], key="s.do/4", number=4, ordinal=4))
    assert order.plan(NOW) == plan(steps, NOW) == StartUndo(newer)
