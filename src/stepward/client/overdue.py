"""Why a task has not ended although a client waits for it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from stepward.client.agents import is_silent
from stepward.durations import text
from stepward.model.records import Instance, Role, Step, Task
from stepward.model.states import StepState, TaskState

OPEN_STEPS = frozenset({StepState.NOT_STARTED, StepState.RUNNING, StepState.TO_REPEAT})
RUN = "run the application: async with app.running(), or stepward run APP"


class AwaitedTask(Struct, frozen=True, kw_only=True):
    """What the store holds of a task that a client waits for, at the instant ``now`` of its clock."""

    task: Task
    steps: Sequence[Step]
    instances: Sequence[Instance]
    now: float


def not_ended(id: str, seconds: float, view: AwaitedTask | None) -> TimeoutError:
    """The error of a wait that ran out; without a view its record could not be read."""
    found = ("no end", "give it more time") if view is None else hindrance(view) or _at(view.task)
    return TimeoutError(f"task {id}: expected its end within {text(seconds)}, found {found[0]}; {found[1]}")


def hindrance(view: AwaitedTask) -> tuple[str, str] | None:
    """What keeps the task from continuing, and what helps; None where nothing is seen to."""
    return _without_scheduler(view) or _with_late_owner(view) or _without_agent(view)


def _without_scheduler(view: AwaitedTask) -> tuple[str, str] | None:
    task = view.task
    served = f"{task.workflow}@{task.version}"
    schedulers = [each for each in view.instances if each.alive and each.role is Role.SCHEDULER]
    if any(served in each.serves for each in schedulers):
        return None
    others = f"{len(schedulers)} live Schedulers, none of which serves {served}" if schedulers else "no live Scheduler"
    return f"it {task.state} and {others}", RUN


def _with_late_owner(view: AwaitedTask) -> tuple[str, str] | None:
    """A task that is held by an instance, or could only be claimed by such, whose lease is over."""
    task = view.task
    served = f"{task.workflow}@{task.version}"
    serving = [each for each in view.instances if each.role is Role.SCHEDULER and served in each.serves]
    owners = [each for each in serving if each.id == task.locked_by] if task.locked_by else serving
    late = [each for each in owners if is_silent(each, view.now)]
    if not late or len(late) < len([each for each in owners if each.alive]):
        return None
    (first, *_) = late
    since = text(round(view.now - first.expires_at, 1))
    what = f"the lease of {first.id} (process {first.pid} on {first.host}) late by {since}"
    return f"it {task.state} and {what}", "see whether that process and a Supervisor run: stepward check"


def _without_agent(view: AwaitedTask) -> tuple[str, str] | None:
    offered = {
        name
        for each in view.instances
        if each.alive and each.role is Role.AGENT and not is_silent(each, view.now)
        for name in each.serves
    }
    missing = sorted(
        {step.name for step in view.steps if step.agent and step.agent not in offered and step.state in OPEN_STEPS}
    )
    if not missing:
        return None
    named = ", ".join(missing[:5]) + (", …" if len(missing) > 5 else "")
    return f"it {view.task.state} and waiting for {named}, which no live Agent offers", "start one: stepward agent APP"


def _at(task: Task) -> tuple[str, str]:
    """What the task is at, and what helps, where nothing hinders it."""
    if task.state is TaskState.SUSPENDED:
        return "it suspended", f"resume it, or look at it: stepward show {task.id}"
    if task.waits_for is not None:
        return f"it {task.state} for {task.waits_for}", f"give it more time, or look at it: stepward show {task.id}"
    return f"it {task.state}", f"give it more time, or look at it: stepward show {task.id}"
