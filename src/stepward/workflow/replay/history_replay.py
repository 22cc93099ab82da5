"""Replays of recorded histories, to find in development what would break in production."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from stepward.model.records import Step, Task
from stepward.model.states import StepKind, TaskState
from stepward.payload import NULL
from stepward.workflow.decisions import Broken, Completed, Decisions, Diverged, RunEnd
from stepward.workflow.definition import Workflow
from stepward.workflow.execution import Execution
from stepward.workflow.replay.run_record import shown

HINT = "look for what the workflow reads beside its arguments and outcomes (clocks, chance, globals, files)"


class Difference(NamedTuple):
    """How the replay of a history differs from its record."""

    message: str
    place: str
    """The same for all tasks with this difference."""
    stops: bool
    """Whether such a task would stop where it is; else only what the code does with it has changed."""


def verify(workflow: Workflow[Any, Any], task: Task, steps: Sequence[Step]) -> str | None:
    """Replay the history of a task that ended, and return what differs from its record; None if nothing does.

    ``steps`` are those of the task's last run; what a repair has set aside is no part of it.
    """
    found = _replay(workflow, task, steps)
    if found is None:
        return None
    return found.message if found.stops else f"task {task.id}: {found.message}"


def first_difference(workflow: Workflow[Any, Any], task: Task, steps: Sequence[Step]) -> Difference | None:
    """Replay the history of a task in any state, and return what differs from its record first; None if nothing does.

    A task that has not been processed may go on with steps that its record does not have. ``steps`` may be of any run.
    """
    own = [step for step in steps if step.run == task.run and step.kind is not StepKind.UNDO]
    own.sort(key=lambda step: step.number)
    found = _replay(workflow, task, own)
    return found if found is not None and (found.stops or task.state is TaskState.PROCESSED) else None


def _replay(workflow: Workflow[Any, Any], task: Task, steps: Sequence[Step]) -> Difference | None:
    execution = Execution(workflow, task, [step for step in steps if step.set_aside_at is None])
    execution.start()
    waits_for, other_input = execution.waits_for, execution.other_input
    decisions = execution.take()
    execution.discard()
    end = decisions.end
    if isinstance(end, Broken | Diverged):
        return Difference(end.message, end.place if isinstance(end, Diverged) else end.message, stops=True)
    return _other_outcome(task, decisions, waits_for, other_input)


def _other_outcome(
    task: Task, decisions: Decisions, waits_for: str | None, other_input: str | None
) -> Difference | None:
    if other_input is not None:
        return _change(other_input, other_input.partition(":")[0])
    if decisions.calls:
        keys = ", ".join(call.key for call in decisions.calls)
        return _change(f"the record ended without {keys}, the replay asked for it", keys)
    return _other_end(task, decisions.end, waits_for) if task.state is TaskState.PROCESSED else None


def _other_end(task: Task, end: RunEnd | None, waits_for: str | None) -> Difference | None:
    if end is None:
        return _change(f"the record ended, the replay still waits for {waits_for}", "still waits")
    if not isinstance(end, Completed):
        how = type(end).__name__.lower()
        return _change(f"the record ended processed, the replay {how}", how)
    if end.output != task.output:
        both = f"the record holds the result {shown(task.output or NULL)}, the replay gave {shown(end.output)}"
        return _change(both, "result")
    return None


def _change(message: str, place: str) -> Difference:
    return Difference(f"{message}; {HINT}", place, stops=False)
