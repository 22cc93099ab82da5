"""The plan of a pipeline's task: a line for each stage, with its state, the stages it waits for and the branches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stepward.cli.output.json_output import plain
from stepward.cli.output.table import Cell, Column
from stepward.cli.output.terminal import print_table, state_cell, style_of
from stepward.client.task_status import StepRecord
from stepward.model.pipeline_plan import Plan, PlannedStage
from stepward.model.states import StepState
from stepward.views.plan_graph import drawn
from stepward.views.state_symbols import LOOKS
from stepward.views.times import NOTHING

GRAPH = Column(name="")
COLUMNS = (
    Column(name="STAGE", least=8, middle=True),
    Column(name="STATE"),
    Column(name="WAITS FOR", least=9),
    Column(name="STEP", least=12, middle=True),
)
UNKNOWN = Cell(NOTHING, "dim")

States = Mapping[str, StepState]
"""By step key."""


def print_plan(plan: Plan, steps: Iterable[StepRecord]) -> None:
    """Print the plan as a table, beside its graph where that is not too wide."""
    states = _states(steps)
    lines = drawn({stage.stage: stage.waits_for for stage in plan})
    if lines is None:
        print_table(COLUMNS, [_row(stage, states, signed=True) for stage in plan], "", title="Plan")
        return
    stages = {stage.stage: stage for stage in plan}
    rows: list[Sequence[Cell]] = []
    for before, name, after in lines:
        if name is None:
            rows.append([Cell(before, "dim"), *[Cell("")] * len(COLUMNS)])
        else:
            row = _row(stages[name], states, signed=False)
            rows.append([Cell(f"{before}{_sign(states.get(stages[name].key))}{after}"), *row])
    print_table([GRAPH, *COLUMNS], rows, "", title="Plan")


def plan_fields(plan: Plan, steps: Iterable[StepRecord]) -> list[dict[str, Any]]:
    """The stages for programs; null is the state of a stage that the task does not have."""
    states = _states(steps)
    return [plain(stage) | {"state": states.get(stage.key)} for stage in plan]


def _states(steps: Iterable[StepRecord]) -> States:
    return {step.key: step.state for step in steps}


def _row(stage: PlannedStage, states: States, *, signed: bool) -> list[Cell]:
    state = states.get(stage.key)
    waits_for = Cell(", ".join(stage.waits_for) or NOTHING, "dim")
    return [Cell(stage.stage), _state(state, signed=signed), waits_for, Cell(stage.key, "dim")]


def _state(state: StepState | None, *, signed: bool) -> Cell:
    if state is None:
        return UNKNOWN
    return state_cell(state) if signed else Cell(state, style_of(state))


def _sign(state: StepState | None) -> str:
    return NOTHING if state is None else LOOKS[state].sign
