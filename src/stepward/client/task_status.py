"""The state of a task and of its steps, as applications and operators read it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from msgspec import Struct

from stepward.client.progress import TaskProgress, progress_of
from stepward.client.waiting.task_endings import StoreChanges
from stepward.model.effects import never_ran
from stepward.model.pipeline_plan import Plan
from stepward.model.records import Step, Task
from stepward.model.states import TASK_ENDS, StepState, TaskState
from stepward.model.tasks.attributes import AttributeValue, decoded
from stepward.payload import displayed, readable
from stepward.store.contract import Tally

AT_WORK = frozenset({StepState.RUNNING, StepState.TO_REPEAT})
PROCESS_STATES = {
    TaskState.PENDING: "Pending",
    TaskState.PROCESSED: "Processed",
    TaskState.ERROR: "Error",
    TaskState.UNDONE: "Undone",
    TaskState.CANCELLED: "Cancelled",
}
"""The pattern's ProcessState; what is none of these is being processed."""


class TaskStatus(Struct, frozen=True, kw_only=True):
    """Where a task stands, under the pattern's names (R22) and ours."""

    id: str
    uid: str
    workflow: str
    version: str
    state: TaskState
    process_state: str
    """The pattern's ProcessState: Pending, Processing, Processed or Error; beyond it Undone and Cancelled."""
    locked_by: str | None
    complete_by: float | None
    """The instant by which its present work must be complete, in seconds of the store's clock; None while no
    Scheduler holds it."""
    failure_count: int
    """Expiries of its steps plus takeovers."""
    priority: int
    fairness_key: str | None
    run: int
    waits_for: str | None
    error: dict[str, Any] | None
    labels: dict[str, str]
    attributes: dict[str, AttributeValue]
    """Typed values by which it is searched."""
    steps_done: int
    steps: int
    progress: TaskProgress
    created_at: float
    started_at: float | None
    finished_at: float | None
    deadline: float | None
    """The instant by which the whole task is to end, if its submission or its workflow sets one."""


class StepRecord(Struct, frozen=True, kw_only=True):
    """A step as an operator sees it; payloads are decoded."""

    key: str
    name: str
    run: int
    kind: str
    state: StepState
    attempt: int
    failure_count: int
    complete_by: float | None
    started_at: float | None
    finished_at: float | None
    in_doubt: bool
    input: Any
    """None while a step is only planned."""
    output: Any
    error: Any
    agent: str | None
    progress: Any
    """The latest progress that the step's code reported, at ``progress_at``."""
    progress_at: float | None
    deferred_at: float | None
    """Since when it waits to be finished from outside."""
    generation: int
    """Counts how often it was asked for again under another idempotency key."""
    set_aside_at: float | None
    """Since when a repair has taken it out of what is replayed; what it did still counts for undo."""


def status_of(task: Task, tally: Tally, plan: Plan | None = None) -> TaskStatus:
    """The status that a task's record and the count of its steps make."""
    return TaskStatus(
        id=task.id,
        uid=task.uid,
        workflow=task.workflow,
        version=task.version,
        state=task.state,
        process_state=PROCESS_STATES.get(task.state, "Processing"),
        locked_by=task.locked_by,
        complete_by=task.complete_by,
        failure_count=task.failure_count,
        priority=task.priority,
        fairness_key=task.fairness_key,
        run=task.run,
        waits_for=task.waits_for,
        error=_error(task.error),
        labels=_labels(task.labels),
        attributes=decoded(task.attributes),
        progress=progress_of(tally, plan),
        steps_done=tally.done,
        steps=tally.steps,
        created_at=task.created_at,
        started_at=task.started_at,
        finished_at=task.finished_at,
        deadline=task.deadline,
    )


def _state(step: Step, task: Task) -> StepState:
    """The step's state; one that was at work when its task ended is so no more, whatever its row keeps for a repair."""
    return StepState.ABANDONED if task.state in TASK_ENDS and step.state in AT_WORK else step.state


def _error(error: bytes | None) -> dict[str, Any] | None:
    found = displayed(error)
    if found is None or isinstance(found, dict):
        return found
    return {"message": "the recorded error is no object", "type": "Error", "data": {"recorded": found}}


def _labels(labels: bytes) -> dict[str, str]:
    found = readable(labels)
    if not isinstance(found, dict):
        return {}
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in found.items()}


def step_record(step: Step, task: Task) -> StepRecord:
    """What an operator sees of a step."""
    return StepRecord(
        key=step.key,
        name=step.name,
        run=step.run,
        kind=str(step.kind),
        state=_state(step, task),
        attempt=step.attempt,
        failure_count=step.failure_count,
        complete_by=step.complete_by,
        started_at=step.started_at,
        finished_at=step.finished_at,
        in_doubt=step.in_doubt or (task.state in TASK_ENDS and step.state in AT_WORK and not never_ran(step)),
        input=displayed(step.input),
        output=displayed(step.output),
        error=displayed(step.error),
        agent=step.agent,
        progress=displayed(step.progress),
        progress_at=step.progress_at,
        deferred_at=step.deferred_at,
        generation=step.generation,
        set_aside_at=step.set_aside_at,
    )


async def followed(
    look: Callable[[], Awaitable[TaskStatus]], changes: Callable[[], StoreChanges]
) -> AsyncIterator[TaskStatus]:
    """The status of a task now and after each change until it ends."""
    last: TaskStatus | None = None
    with changes() as changed:
        while True:
            status = await look()
            if status != last:
                yield status
            if status.state in TASK_ENDS:
                return
            last = status
            await changed.wait()
