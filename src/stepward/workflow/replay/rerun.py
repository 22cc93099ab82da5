"""Replaying a finished task, to find in development what would break in production."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stepward.model.records import Step, Task
from stepward.model.states import TaskState
from stepward.payload import NULL
from stepward.workflow.decisions import Broken, Completed, Decisions, Diverged, RunEnd
from stepward.workflow.definition import Workflow
from stepward.workflow.engine import Execution
from stepward.workflow.replay.recordings import shown

HINT = "look for what the workflow reads beside its arguments and outcomes (clocks, chance, globals, files)"


def verify(workflow: Workflow[Any, Any], task: Task, steps: Sequence[Step]) -> str | None:
    """Replay the history of a task that ended, and say what differs from its record; None if nothing does.

    ``steps`` are those of the task's last run; what a repair has set aside is no part of it.
    """
    execution = Execution(workflow, task, [step for step in steps if step.set_aside_at is None])
    execution.start()
    waits_for, other_input = execution.waits_for, execution.other_input
    decisions = execution.take()
    execution.discard()
    return _difference(task, decisions, waits_for, other_input)


def _difference(task: Task, decisions: Decisions, waits_for: str | None, other_input: str | None) -> str | None:
    end = decisions.end
    if isinstance(end, Broken | Diverged):
        return end.message
    if other_input is not None:
        return f"task {task.id}: {other_input}; {HINT}"
    if decisions.calls:
        keys = ", ".join(call.key for call in decisions.calls)
        return f"task {task.id}: the record ended without {keys}, the replay asked for it; {HINT}"
    return _other_end(task, end, waits_for) if task.state is TaskState.PROCESSED else None


def _other_end(task: Task, end: RunEnd | None, waits_for: str | None) -> str | None:
    if end is None:
        return f"task {task.id}: the record ended, the replay still waits for {waits_for}; {HINT}"
    if not isinstance(end, Completed):
        return f"task {task.id}: the record ended processed, the replay {type(end).__name__.lower()}; {HINT}"
    if end.output != task.output:
        both = f"the record holds the result {shown(task.output or NULL)}, the replay gave {shown(end.output)}"
        return f"task {task.id}: {both}; {HINT}"
    return None
