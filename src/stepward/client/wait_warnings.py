"""Why a task has not ended within the time that a client waited for it."""

from __future__ import annotations

from collections.abc import Sequence

from stepward.durations import text
from stepward.model.records import Instance, Role, Task
from stepward.model.states import TaskState


def not_ended(id: str, seconds: float, task: Task | None, instances: Sequence[Instance]) -> TimeoutError:
    """The error of a wait that ran out; without a task its record could not be read."""
    found = ("no end", "give it more time") if task is None else _found(task, instances)
    return TimeoutError(f"task {id}: expected its end within {text(seconds)}, found {found[0]}; {found[1]}")


def _found(task: Task, instances: Sequence[Instance]) -> tuple[str, str]:
    """What the task is at, and what helps."""
    served = f"{task.workflow}@{task.version}"
    schedulers = [each for each in instances if each.alive and each.role is Role.SCHEDULER]
    if not any(served in each.serves for each in schedulers):
        others = (
            f"{len(schedulers)} live Schedulers, none of which serves {served}" if schedulers else "no live Scheduler"
        )
        return f"it {task.state} and {others}", "run the application: async with app.running(), or stepward run APP"
    if task.state is TaskState.SUSPENDED:
        return "it suspended", f"resume it, or look at it: stepward show {task.id}"
    if task.waits_for is not None:
        return f"it {task.state} for {task.waits_for}", f"give it more time, or look at it: stepward show {task.id}"
    return f"it {task.state}", f"give it more time, or look at it: stepward show {task.id}"
