"""The undo planner as rules: rows and an instant in, the next thing to do out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from stepward.model.effects import asked_as, undo_step
from stepward.model.records import Step
from stepward.model.states import StepKind, StepState
from stepward.workflow.undo_planner import (
    Barred,
    Finished,
    StartUndo,
    Stuck,
    UndoOrder,
    UndoPlan,
    WaitFor,
    has_begun,
    plan,
    plan_abandoned,
    plan_set_aside,
)

NOW = 1000.0
LATER, SOONER = NOW + 9, NOW + 3
Planner = Callable[[Sequence[Step], float], UndoPlan]


def step(key: str, number: int, state: StepState = StepState.COMPLETED, **fields: Any) -> Step:
    """An operation with an undo that has run, and answered well if nothing else is said."""
    usual: dict[str, Any] = {
        "run": 1,
        "kind": StepKind.OPERATION,
        "agent": "shop",
        "attempt": 1,
        "started_at": NOW - 500,
        "complete_by": NOW - 400,
        "output": b"1" if state is StepState.COMPLETED else None,
        "has_undo": True,
    }
    return Step(task="t", key=key, number=number, name="shop.do", state=state, **usual | fields)


def lost(key: str, number: int, **fields: Any) -> Step:
    """A failed step that may have acted, whose outcome was never delivered."""
    return step(key, number, StepState.FAILED, **{"in_doubt": True} | fields)


def running(key: str, number: int, **fields: Any) -> Step:
    return step(key, number, StepState.RUNNING, **{"complete_by": LATER} | fields)


def abandoned(key: str, number: int, **fields: Any) -> Step:
    return step(key, number, StepState.ABANDONED, **fields)


def undo(of: Step, state: StepState, **fields: Any) -> Step:
    return replace(undo_step(of), state=state, **fields)


def undone_in_turn(planner: Planner, steps: list[Step]) -> list[str]:
    """The steps that are undone, one after the other, while each undo ends well."""
    order = list[str]()
    while isinstance(decided := planner(steps, NOW), StartUndo):
        order.append(f"{decided.step.run} {decided.step.key}")
        decided.step.state = StepState.UNDONE
        known = next(
            (row for row in steps if row.key == f"{decided.step.key}~undo" and row.run == decided.step.run), None
        )
        if known is None:
            steps.append(undo(decided.step, StepState.COMPLETED))
        else:
            known.state = StepState.COMPLETED
    assert decided == Finished([])
    return order


ORDERS: dict[str, tuple[list[Step], list[str]]] = {
    "the order of outcomes turned round, whatever was asked for first": (
        [step("a", 1, ordinal=3), step("b", 2, ordinal=1), step("c", 3, ordinal=2)],
        ["1 a", "1 c", "1 b"],
    ),
    "an outcome that nobody knows is the newest": (
        [lost("a", 1), step("b", 2, ordinal=1), step("c", 3, ordinal=2)],
        ["1 a", "1 c", "1 b"],
    ),
    "one that the workflow was not told of is, too": (
        [step("a", 1), step("b", 2, ordinal=1)],
        ["1 a", "1 b"],
    ),
    "a failure in doubt that the workflow was told of stands where that was": (
        [lost("a", 1, ordinal=1), step("b", 2, ordinal=2)],
        ["1 b", "1 a"],
    ),
    "of those that nobody knows, the one asked for last": (
        [lost("a", 1), step("b", 2, ordinal=7), lost("c", 3), lost("d", 4)],
        ["1 d", "1 c", "1 a", "1 b"],
    ),
    "a group whose answers came crosswise, one of them never": (
        [step("before", 1, ordinal=1), *(step(f"g{n}", n, ordinal=9 - n) for n in (2, 3, 5)), lost("g4", 4)],
        ["1 g4", "1 g2", "1 g3", "1 g5", "1 before"],
    ),
    "children among operations": (
        [
            step("a", 1, ordinal=1),
            step("child", 2, kind=StepKind.CHILD, has_undo=False, ordinal=2),
            step("c", 3, ordinal=3),
        ],
        ["1 c", "1 child", "1 a"],
    ),
    "what was given up and may have acted": (
        [abandoned("a", 1), step("b", 2, ordinal=1), abandoned("late", 3, output=b"1", finished_at=NOW - 1)],
        ["1 late", "1 a", "1 b"],
    ),
    "later runs first, even before what is unknown of earlier ones": (
        [lost("a", 1), step("b", 2, ordinal=8), step("a", 1, run=2, ordinal=2), lost("b", 2, run=2)],
        ["2 b", "2 a", "1 a", "1 b"],
    ),
    "only what may have acted and can be undone": (
        [
            step("refused", 1, StepState.FAILED, ordinal=1),
            step("skipped", 2, StepState.SKIPPED, attempt=0, started_at=None),
            step("waits", 3, StepState.NOT_STARTED, attempt=0, started_at=None),
            step("gone", 4, StepState.UNDONE, ordinal=2),
            step("no undo", 5, has_undo=False, ordinal=3),
            step("local", 6, kind=StepKind.LOCAL, ordinal=4),
            step("acted", 7, ordinal=5),
        ],
        ["1 acted"],
    ),
}
"""Rows, and which of them are undone in which order."""

ASIDE: dict[str, Any] = {"set_aside_at": NOW - 100}
REPAIRED: dict[str, tuple[list[Step], list[str]]] = {
    "instants and not ordinals, which were given again": (
        [
            step("a~1", 1, ordinal=3, finished_at=NOW - 300, **ASIDE),
            step("b", 2, ordinal=2, finished_at=NOW - 200),
            step("a", 1, ordinal=1, finished_at=NOW - 50),
        ],
        ["1 a", "1 b", "1 a~1"],
    ),
    "what was open stands where the repair took it back, however late it answered": (
        [step("a~1", 3, finished_at=NOW - 10, **ASIDE), step("b", 2, ordinal=1, finished_at=NOW - 50)],
        ["1 b", "1 a~1"],
    ),
    "at the repair's own instant what it set aside came before": (
        [step("a~1", 3, **ASIDE), step("b", 2, ordinal=1, finished_at=NOW - 100)],
        ["1 b", "1 a~1"],
    ),
    "at one instant the order of outcomes tells": (
        [
            step("a", 1, ordinal=2, finished_at=NOW - 50),
            step("b", 2, ordinal=1, finished_at=NOW - 50),
            step("c~1", 3, ordinal=1, finished_at=NOW - 200, **ASIDE),
        ],
        ["1 a", "1 b", "1 c~1"],
    ),
    "what has no outcome is still the newest": (
        [
            step("a~1", 1, ordinal=1, finished_at=NOW - 300, **ASIDE),
            abandoned("b", 2),
            step("a", 1, finished_at=NOW - 5),
        ],
        ["1 b", "1 a", "1 a~1"],
    ),
    "later runs are still first": (
        [
            abandoned("a", 1),
            step("b~1", 1, run=2, ordinal=1, finished_at=NOW - 300, **ASIDE),
            step("b", 1, run=2, ordinal=1, finished_at=NOW - 50),
        ],
        ["2 b", "2 b~1", "1 a"],
    ),
}
"""The same once a repair has set something aside."""


@pytest.mark.parametrize("case", [*ORDERS, *REPAIRED])
@pytest.mark.parametrize("is_turned", [False, True])
def test_what_is_undone_and_in_which_order(case: str, is_turned: bool) -> None:
    """However the rows come from the store."""
    rows, order = (ORDERS | REPAIRED)[case]
    steps = [replace(row) for row in (reversed(rows) if is_turned else rows)]
    assert undone_in_turn(plan, steps) == order


UNDER_WAY, PAID = running("lost", 2), step("paid", 1, ordinal=1)
ANSWERED_LATE = abandoned("late", 1, complete_by=LATER, finished_at=NOW - 1, output=b"1")
DECISIONS: dict[str, tuple[list[Step], UndoPlan]] = {
    "an attempt that may still act is waited for": ([PAID, UNDER_WAY], WaitFor(LATER)),
    "at its complete-by it is over": (
        [PAID, expired := running("x", 2, complete_by=NOW)],
        StartUndo(expired),
    ),
    "an older one holds up nothing": (
        [running("old", 1, run=1), new := step("n", 1, run=2, ordinal=1)],
        StartUndo(new),
    ),
    "one that was judged to be repeated acts no more": (
        [judged := step("x", 1, StepState.TO_REPEAT, complete_by=LATER)],
        StartUndo(judged),
    ),
    "one that was given up may still act": ([abandoned("x", 1, complete_by=LATER)], WaitFor(LATER)),
    "until it answers": ([ANSWERED_LATE], StartUndo(ANSWERED_LATE)),
    "or fails": (
        [failed := abandoned("x", 1, complete_by=LATER, finished_at=NOW - 1, in_doubt=True)],
        StartUndo(failed),
    ),
    "or is over": ([over := abandoned("x", 1, complete_by=NOW)], StartUndo(over)),
    "whoever was to finish it from outside is not waited for": (
        [deferred := running("x", 1, deferred_at=NOW - 5)],
        StartUndo(deferred),
    ),
    "a child is told at once": (
        [child := running("x", 1, kind=StepKind.CHILD, has_undo=False)],
        StartUndo(child),
    ),
    "an undo under way is waited for": ([PAID, undo(PAID, StepState.RUNNING)], WaitFor(None)),
    "until it is repeated": ([PAID, undo(PAID, StepState.TO_REPEAT, repeat_at=LATER)], WaitFor(LATER)),
    "an undo that failed needs an operator": (
        [PAID, undo(PAID, StepState.FAILED)],
        Stuck("paid~undo", "the undo of paid failed"),
    ),
    "even if others could be undone": (
        [step("other", 1, ordinal=1), last := step("last", 2, ordinal=2), undo(last, StepState.FAILED)],
        Stuck("last~undo", "the undo of last failed"),
    ),
    "an undo that has a row and was not started is": ([PAID, undo(PAID, StepState.NOT_STARTED)], StartUndo(PAID)),
    "but not while the attempt may act": ([UNDER_WAY, undo(UNDER_WAY, StepState.NOT_STARTED)], WaitFor(LATER)),
    "the undo of another run's step is no undo of this one": (
        [again := step("paid", 1, run=2, ordinal=1), PAID, undo(PAID, StepState.FAILED)],
        StartUndo(again),
    ),
    "nothing is left": ([step("x", 1, StepState.UNDONE), undo(PAID, StepState.COMPLETED)], Finished([])),
    "what is in doubt and has no undo is named": (
        [lost("x", 1, has_undo=False), step("y", 2, has_undo=False, ordinal=1)],
        Finished(["x"]),
    ),
    "so is what an operator did by hand": (
        [step("x", 1, attempt=0, started_at=None), step("y", 2, has_undo=False)],
        Finished(["x"]),
    ),
    "past an irreversible step nothing is undone": (
        [sealed := step("seal", 1, irreversible=True, has_undo=False, ordinal=1), step("x", 2, ordinal=2)],
        Barred("seal", "seal is irreversible: the task can only go forward past it"),
    ),
    "nor past one that may have acted": (
        [lost("seal", 1, irreversible=True, has_undo=False)],
        Barred("seal", "seal is irreversible: the task can only go forward past it"),
    ),
    "while it may yet turn out not to have acted, the first of them is waited for": (
        [running(f"seal{at}", 1, irreversible=True, complete_by=at) for at in (LATER, SOONER)],
        WaitFor(SOONER),
    ),
    "one is certain": (
        [running("seal1", 1, irreversible=True), step("seal2", 2, irreversible=True)],
        Barred("seal2", "seal2 is irreversible: the task can only go forward past it"),
    ),
    "one that was refused bars nothing": (
        [step("seal", 2, StepState.FAILED, irreversible=True, ordinal=2), PAID],
        StartUndo(PAID),
    ),
}
"""Rows, and what comes next."""


@pytest.mark.parametrize("case", DECISIONS)
def test_what_comes_next(case: str) -> None:
    steps, decision = DECISIONS[case]
    assert plan(steps, NOW) == decision
    assert UndoOrder(steps).plan(NOW) == decision


def test_before_a_task_is_processed_only_what_was_given_up_is_undone() -> None:
    steps = [
        abandoned("a", 1),
        step("b", 2, ordinal=1),
        step("seal", 3, irreversible=True, has_undo=False, ordinal=2),
        abandoned("c", 4, output=b"1", finished_at=NOW - 1),
        lost("d", 5, ordinal=3),
        abandoned("e", 6, attempt=0, started_at=None),
    ]
    assert undone_in_turn(plan_abandoned, steps) == ["1 c", "1 a"]


def test_before_a_task_goes_on_from_a_repair_only_what_the_operator_wanted_is_undone() -> None:
    steps = [
        first := step("a~1", 1, ordinal=1, finished_at=NOW - 300, **ASIDE),
        second := step("b~1", 2, ordinal=2, finished_at=NOW - 200, **ASIDE),
        step("c~1", 3, ordinal=3, finished_at=NOW - 150, **ASIDE),
        step("d", 4, ordinal=4, finished_at=NOW - 350),
        undo(first, StepState.NOT_STARTED),
        undo(second, StepState.NOT_STARTED),
    ]
    assert undone_in_turn(plan_set_aside, steps) == ["1 b~1", "1 a~1"]
    assert [asked_as(row) for row in (first, second)] == ["a", "b"]


SET_ASIDE = step("a~1", 1, run=2, ordinal=1, finished_at=NOW - 300, **ASIDE)
OF_RUN_1 = step("a~1", 1, StepState.UNDONE, ordinal=1)


@pytest.mark.parametrize(
    ("steps", "decision"),
    [
        ([PAID, undo(PAID, StepState.NOT_STARTED)], Finished([])),
        ([SET_ASIDE, undo(OF_RUN_1, StepState.NOT_STARTED)], Finished([])),
        (
            [undo(OF_RUN_1, StepState.COMPLETED), SET_ASIDE, undo(SET_ASIDE, StepState.NOT_STARTED)],
            StartUndo(SET_ASIDE),
        ),
        ([SET_ASIDE, undo(SET_ASIDE, StepState.RUNNING)], WaitFor(None)),
        ([SET_ASIDE, undo(SET_ASIDE, StepState.FAILED)], Stuck("a~1~undo", "the undo of a~1 failed")),
    ],
    ids=["nothing set aside", "wanted in another run", "undone in another run", "under way", "failed"],
)
def test_what_comes_next_before_a_task_goes_on_from_a_repair(steps: list[Step], decision: UndoPlan) -> None:
    assert plan_set_aside(steps, NOW) == decision


def test_undo_has_begun_with_its_first_row() -> None:
    assert not has_begun([PAID, UNDER_WAY])
    assert has_begun([PAID, undo(PAID, StepState.NOT_STARTED)])
