"""The state of a task in words."""

from __future__ import annotations

from stepward.client import TaskStatus
from stepward.model.failures import titled
from stepward.model.states import TASK_ENDS, TaskState
from stepward.model.tasks.stopped_tasks import WAITS_FOR


def note_of(task: TaskStatus) -> str:
    """The reason for the task's state; for code that does not match the record, the place in the code."""
    if task.waits_for == WAITS_FOR and task.error is not None and task.error.get("place"):
        return f"code that fits: {task.error['place']}"
    if task.error is not None and task.state is not TaskState.PROCESSED:
        return titled(task.error)
    return "" if task.state in TASK_ENDS else task.waits_for or ""


def stage_of(status: TaskStatus) -> str:
    """The progress of the task, and what it waits for."""
    waits = f", waits for {status.waits_for}" if status.state is TaskState.WAITING and status.waits_for else ""
    run = f", run {status.run}" if status.run > 1 else ""
    steps = f"{status.steps_done} of {status.steps} steps"
    done = steps if status.progress.total is None else f"{status.progress} stages"
    return f"{done} done{run}{waits}"


def failures_of(status: TaskStatus, attempts: int) -> str:
    """The number and kinds of failures: ``attempts`` of steps, and failures of the task itself."""
    others = status.failure_count - attempts
    if not status.failure_count or others < 0:
        return f"{status.failure_count}"
    kinds = ["takeover from a Scheduler that died"]
    kinds += ["its own complete-by"] if status.deadline is not None else []
    kinds += ["earlier runs"] if status.run > 1 else []
    parts = [f"{attempts} by attempts of its steps"] if attempts else []
    parts += [f"{others} by {' or '.join(kinds)}"] if others else []
    return f"{status.failure_count}: {', '.join(parts)}"
