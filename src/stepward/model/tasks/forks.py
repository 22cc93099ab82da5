"""Provenance of a task that was forked from another: a row of its record, in front of those that it took over."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from stepward.model.records import Step, Task
from stepward.model.states import StepKind, StepState
from stepward.payload import NULL, decode

PROVENANCE = "fork/1"
"""The key of the row."""


class Provenance(Struct, frozen=True, kw_only=True):
    """What a task was forked from."""

    origin: str
    """The id of the task that it was forked from, and its uid."""
    origin_uid: str
    step: str
    """The key of the first step that was not taken over."""
    seed: str
    """The uid of the task that asked for the first step of the record: random numbers are drawn by it."""
    began_at: float
    """When that task began: the time of the first line of the workflow."""


def provenance_of(steps: Iterable[Step]) -> Provenance | None:
    """The provenance in the record of a task; None for a task that was not forked. Raises InvalidPayload."""
    row = next((step for step in steps if step.key == PROVENANCE), None)
    return None if row is None else decode(row.output or NULL, PROVENANCE, Provenance)


def inherited_by_forks(task: Task, steps: Iterable[Step]) -> tuple[str, float]:
    """The seed of a task's record, and when its workflow began: a fork of it has the same."""
    known = provenance_of(steps)
    if known is not None:
        return known.seed, known.began_at
    return task.uid, task.created_at if task.started_at is None else task.started_at


def provenance_step(task: Task, provenance: Provenance) -> Step:
    """The row of a task's provenance; no command of its workflow has its number."""
    return Step(
        task=task.uid,
        run=task.run,
        key=PROVENANCE,
        number=0,
        name=PROVENANCE.partition("/")[0],
        kind=StepKind.VALUE,
        state=StepState.COMPLETED,
        finished_at=task.created_at,
        ordinal=0,
        asked=0,
        input=NULL,
        output=msgspec.json.encode(provenance),
    )
