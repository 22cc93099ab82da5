"""Reasons for which a task has not ended although a client waits: no Scheduler, no Agent, or a late lease."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from stepward.client.agent_status import is_late
from stepward.durations import text
from stepward.model.records import Instance, Role, Step, Task
from stepward.model.states import StepState, TaskState

OPEN_STEPS = frozenset({StepState.NOT_STARTED, StepState.RUNNING, StepState.TO_REPEAT})
MOST_NAMED = 5
"""Most operations that one line names."""


class WaitHindrance(NamedTuple):
    """What hinders the task, for a sentence ``found …; …``; two of one kind have one cause."""

    kind: str
    found: str
    remedy: str


class WaitView(Struct, frozen=True, kw_only=True):
    """What the store holds of a task that a client waits for, at the instant ``now`` of its clock."""

    task: Task
    instances: Sequence[Instance]
    now: float
    steps: Sequence[Step] = ()
    """Its steps; read only if ``lacks_agent``, because there may be thousands."""


def not_ended(id: str, seconds: float, view: WaitView | None) -> TimeoutError:
    """The error of a wait that timed out; without a view the task's record could not be read."""
    found = ("no end", "give it more time") if view is None else _reason(view)
    return TimeoutError(f"task {id}: expected its end within {text(seconds)}, found {found[0]}; {found[1]}")


def hindrance(view: WaitView) -> WaitHindrance | None:
    """What keeps the task from continuing; None if nothing is found."""
    return _without_scheduler(view) or _with_late_owner(view) or _without_agent(view)


def lacks_agent(view: WaitView) -> bool:
    """Whether the Scheduler that holds the task reports demand at an Agent that no live instance offers."""
    offered = _offered(view)
    owners = [each for each in view.instances if each.id == view.task.locked_by]
    return any(name not in offered for owner in owners for name in owner.demand)


def _reason(view: WaitView) -> tuple[str, str]:
    found = hindrance(view)
    return _at(view.task) if found is None else (found.found, found.remedy)


def _without_scheduler(view: WaitView) -> WaitHindrance | None:
    task = view.task
    served = f"{task.workflow}@{task.version}"
    schedulers = [each for each in view.instances if each.alive and each.role is Role.SCHEDULER]
    if any(served in each.serves for each in schedulers):
        return None
    others = f"{len(schedulers)} live Schedulers, none of which serves {served}" if schedulers else "no live Scheduler"
    remedy = "run the application: async with app.running(), or stepward run APP"
    return WaitHindrance("scheduler", f"it {task.state} and {others}", remedy)


def _with_late_owner(view: WaitView) -> WaitHindrance | None:
    """The lease of the Scheduler that holds the task is late, or those of all that could claim it."""
    task = view.task
    served = f"{task.workflow}@{task.version}"
    serving = [each for each in view.instances if each.alive and each.role is Role.SCHEDULER and served in each.serves]
    owners = [each for each in serving if each.id == task.locked_by] if task.locked_by else serving
    late = [each for each in owners if is_late(each, view.now)]
    if not late or len(late) < len(owners):
        return None
    first = late[0]
    since = text(round(view.now - first.expires_at, 1))
    found = f"it {task.state} and the lease of {first.id} (process {first.pid} on {first.host}) late by {since}"
    return WaitHindrance("lease", found, "see whether that process and a Supervisor run: stepward check")


def _without_agent(view: WaitView) -> WaitHindrance | None:
    offered = _offered(view)
    open_steps = [step for step in view.steps if step.agent and step.state in OPEN_STEPS]
    missing = sorted({step.name for step in open_steps if step.agent not in offered})
    if not missing:
        return None
    named = ", ".join(missing[:MOST_NAMED]) + (", …" if len(missing) > MOST_NAMED else "")
    found = f"it {view.task.state} and waiting for {named}, which no live Agent offers"
    return WaitHindrance("agent", found, "start one: stepward agent APP")


def _offered(view: WaitView) -> set[str]:
    """The Agents that live instances offer; an instance whose lease was just missed is not given up yet."""
    agents = [each for each in view.instances if each.alive and each.role is Role.AGENT]
    return {name for each in agents if not is_late(each, view.now) for name in each.serves}


def _at(task: Task) -> tuple[str, str]:
    """The state of the task, and what helps, if nothing hinders it."""
    if task.state is TaskState.SUSPENDED:
        return "it suspended", f"resume it, or look at it: stepward show {task.id}"
    if task.waits_for is not None:
        return f"it {task.state} for {task.waits_for}", f"give it more time, or look at it: stepward show {task.id}"
    return f"it {task.state}", f"give it more time, or look at it: stepward show {task.id}"
