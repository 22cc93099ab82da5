"""Programs: the legal ends of each, and that any other end is reported."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from simulation.invariants.watched_rows import TaskRow
from simulation.random_programs.legal_ends import end_of
from simulation.random_programs.program_clients import Experiment, _differences
from simulation.random_programs.programs import SETTLING_NAME, Program
from simulation.run import run_seed
from stepward.model.states import TaskState

DO, NO = ["do", 1, False], ["do", 2, True]
CASES: list[tuple[Program, str, Any, dict[int, int], set[int]]] = [
    (DO, "ends", 1, {1: 1}, set()),
    (NO, "fails", None, {}, set()),
    (["sequence", DO, ["late", 0.1], ["sleep", 0.1]], "ends", [1, "too late", "slept"], {1: 1}, set()),
    (["sequence", DO, NO, ["do", 3, False]], "fails", None, {1: 1}, set()),
    (["all", DO, ["wait", "w"]], "ends", [1, 7], {1: 1}, set()),
    (["catch", ["sequence", DO, NO], ["do", 3, False]], "ends", ["caught", 3], {1: 1, 3: 1}, set()),
    (["catch", ["all", DO, NO], ["do", 3, False]], "ends", ["caught", 3], {3: 1}, {1}),
    (
        ["catch", ["all", ["sequence", DO, NO], ["do", 3, False]], ["sleep", 1]],
        "ends",
        ["caught", "slept"],
        {1: 1},
        {3},
    ),
    (["catch", ["child", ["sequence", DO, NO]], ["sleep", 1]], "ends", ["caught", "slept"], {}, set()),
    (["catch", ["all", NO, ["halt"]], ["sleep", 1]], "ends", ["caught", "slept"], {}, set()),
    (["sequence", DO, ["halt"], NO], "halts", None, {1: 1}, set()),
    (["again", 2, DO, ["do", 3, False]], "ends", 3, {1: 3, 3: 1}, set()),
    (["again", 2, DO, NO], "fails", None, {1: 3}, set()),
]


@pytest.mark.parametrize(
    ("program", "how", "value", "stand", "may"), CASES, ids=[json.dumps(case[0]) for case in CASES]
)
def test_the_end_of_a_program_is_computed(
    program: Program, how: str, value: Any, stand: dict[int, int], may: set[int]
) -> None:
    end = end_of(program, {"w": 7})
    assert (end.fails, end.halts) == (how == "fails", how == "halts")
    assert how != "ends" or end.value == value
    assert (end.stand, end.may) == (stand, may)


def task(state: str, output: Any = None) -> TaskRow:
    row = TaskRow._make([None] * len(TaskRow._fields))
    return row._replace(state=state, output=json.dumps(output).encode(), error=b"null")


@pytest.mark.parametrize(
    ("row", "standing", "told"),
    [
        (task("processed", [1, 7]), {1: 1}, None),
        (task("processed", [1, 7]), {1: 2}, "has effect 1 standing 2 times, and must have it 1 times"),
        (task("processed", [1, 7]), {}, "has effect 1 standing 0 times, and must have it 1 times"),
        (task("processed", [1, 7]), {1: 1, 9: 1}, "has effect 9 standing 1 times, and must have it 0 times"),
        (task("processed", [1, 8]), {1: 1}, "gave [1, 8], and must give [1, 7]"),
        (task("undone"), {}, "ended undone, and must end processed (null)"),
    ],
)
def test_any_other_end_is_reported(row: TaskRow, standing: dict[int, int], told: str | None) -> None:
    experiment = Experiment(["all", DO, ["wait", "w"]], {"w": 7}, TaskState.UNDONE)
    found = list(_differences(row, experiment, Counter(standing)))
    assert found == ([] if told is None else [told])


@pytest.mark.parametrize("seed", [3, 9, 18])
def test_every_kind_of_program_ends_as_computed_in_a_faulty_world(seed: int) -> None:
    experiments = [Experiment(case[0], {"w": 7}, TaskState.CANCELLED) for case in CASES]
    result = run_seed(seed, experiments=experiments)
    assert not result.violations
    assert result.situations["a program ended processed"] == sum(case[1] == "ends" for case in CASES)
    assert result.situations["a program ended cancelled"] == 1


def test_what_is_settled_stands_although_the_last_run_is_undone() -> None:
    program = ["again", 2, DO, ["sequence", ["do", 3, False], NO]]
    settling = Experiment(program, {}, TaskState.UNDONE, workflow=SETTLING_NAME)
    assert (settling.state, settling.settled) == (TaskState.UNDONE, {1: 2})
    assert list(_differences(task("undone"), settling, Counter({1: 2}))) == []
    assert list(_differences(task("undone"), Experiment(program, {}, TaskState.UNDONE), Counter())) == []
    assert Experiment(DO, {}, TaskState.UNDONE, workflow=SETTLING_NAME).settled == {}


@pytest.mark.parametrize("seed", [5, 12])
def test_programs_whose_former_runs_are_settled_end_as_computed_in_a_faulty_world(seed: int) -> None:
    programs = [["again", 3, DO, ["sequence", ["do", 3, False], NO]], ["again", 4, DO, ["do", 3, False]]]
    experiments = [Experiment(program, {}, TaskState.UNDONE, workflow=SETTLING_NAME) for program in programs]
    result = run_seed(seed, experiments=experiments)
    assert not result.violations
    assert result.situations["a program ended undone"] == 1
