"""Steps that are asked of Agents while no live instance holds their tasks: what a look found, put together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stepward.model.effects import SUFFIX
from stepward.model.records import Step, Task
from stepward.model.states import StepKind, StepState
from stepward.store.contract import UnownedStep, UnownedSteps
from stepward.store.rows import RowValues

UnheldKey = tuple[str, int, str]
"""Task, run and key."""
IS_WANTED = -1
"""The column of a look that says whether its step is one of them; before it stands the step's place."""


def wanted_steps(seen: Sequence[RowValues]) -> list[UnheldKey]:
    """The steps that are wanted, and those that they undo."""
    wanted: list[UnheldKey] = [(task, run, key) for _, task, run, key, is_wanted in seen if is_wanted]
    return wanted + [(task, run, key.removesuffix(SUFFIX)) for task, run, key in wanted if key.endswith(SUFFIX)]


def collected(seen: Sequence[RowValues], limit: int, tasks: Iterable[Task], steps: Iterable[Step]) -> UnownedSteps:
    """The answer to a look for up to ``limit`` rows; what ended since then is left out."""
    by_uid = {task.uid: task for task in tasks}
    by_key = {(step.task, step.run, step.key): step for step in steps}
    found = []
    for _, task, run, key, is_wanted in seen:
        step = by_key.get((task, run, key)) if is_wanted and task in by_uid else None
        if step is not None and step.state is StepState.RUNNING:
            undone = by_key.get((task, run, key.removesuffix(SUFFIX))) if step.kind is StepKind.UNDO else None
            found.append(UnownedStep(by_uid[task], step, undone))
    return UnownedSteps(found, tuple(seen[-1][:IS_WANTED]) if len(seen) == limit else None)
