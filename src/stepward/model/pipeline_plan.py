"""Declared plans as data: the stages of a pipeline, and the step rows that record them at submission."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import msgspec
from msgspec import Struct

from stepward.model.records import Step, Task
from stepward.model.states import StepKind, StepState

NO_INPUT = b""
"""The input of a row until the workflow requests the step: a real input is never empty."""


class PlannedStage(Struct, frozen=True, kw_only=True):
    """A stage of a plan: its action, the key of its step, and the stages that it waits for."""

    stage: str
    key: str
    name: str
    """The name of the operation, local step or workflow."""
    kind: StepKind
    agent: str | None
    complete_seconds: float | None
    has_undo: bool
    irreversible: bool
    waits_for: tuple[str, ...]


Plan = Sequence[PlannedStage]
"""In an order in which each stage comes after those that it waits for."""

Plans = Mapping[tuple[str, str], Plan]
"""By the name and version of the workflow; a workflow in code has none."""
NO_PLANS: Plans = MappingProxyType({})


def to_json(plan: Plan) -> bytes:
    """The plan as it is stored."""
    return msgspec.json.encode(plan)


def from_json(data: bytes) -> Plan:
    """The stored plan."""
    return msgspec.json.decode(data, type=tuple[PlannedStage, ...])


def planned_steps(task: Task, plan: Plan) -> list[Step]:
    """A row for each stage, not started, numbered by its position in the plan."""
    return [_planned_step(task, number, stage) for number, stage in enumerate(plan, 1)]


def _planned_step(task: Task, number: int, stage: PlannedStage) -> Step:
    return Step(
        task=task.uid,
        run=task.run,
        key=stage.key,
        number=number,
        name=stage.name,
        kind=stage.kind,
        state=StepState.NOT_STARTED,
        agent=stage.agent,
        complete_seconds=stage.complete_seconds,
        input=NO_INPUT,
        has_undo=stage.has_undo,
        irreversible=stage.irreversible,
    )


def is_planned(step: Step) -> bool:
    """Whether the row is that of a stage that the workflow has not requested yet."""
    return step.state is StepState.NOT_STARTED and not step.input
