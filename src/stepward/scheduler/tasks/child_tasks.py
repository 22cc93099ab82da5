"""Child tasks: what a step starts, and what its parent receives of the end."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from stepward.model import failures
from stepward.model.effects import child_id, generation_key, key_of
from stepward.model.messages.requests import Outcome, Reply
from stepward.model.records import Step, Task
from stepward.model.states import StepState, TaskState
from stepward.scheduler.tasks import step_rows as rows
from stepward.scheduler.tasks.active_task import ActiveTask
from stepward.scheduler.tasks.lazy_collections import added
from stepward.workflow.decisions import StepCall
from stepward.workflow.definition import Workflow

UNDONE = frozenset({TaskState.UNDONE, TaskState.CANCELLED})


def begin(
    active: ActiveTask, step: Step, call: StepCall, events_to: Mapping[str, str], child_depth: int, now: float
) -> None:
    """Have this turn's change begin the child; a step that stands too deep is refused instead."""
    task, action = active.task, call.action
    active.children += 1
    step.state, step.attempt, step.started_at = StepState.RUNNING, step.attempt + 1, now
    step.complete_seconds = None
    if task.depth >= child_depth:
        active.refused = added(active.refused, step)
        return
    limit = None if action.complete_seconds is None else now + action.complete_seconds
    if task.deadline is not None:
        limit = task.deadline if limit is None else min(limit, task.deadline)
    version = action.version if isinstance(action, Workflow) else "1"
    if isinstance(action, Workflow) and action.plan is not None:
        active.changed().plan(action.name, version, action.plan)
    child = started_by(task, step, call, version, limit, now)
    child.events_to = events_to.get(child.workflow)
    active.changed().begin_child(child)


def started_by(parent: Task, step: Step, call: StepCall, version: str, deadline: float | None, now: float) -> Task:
    """The task that a child step starts: the parent's uid never repeats, so neither does this one's."""
    return Task(
        uid=key_of(step),
        id=child_id(parent, step),
        workflow=call.action.name,
        version=version,
        priority=parent.priority,
        fairness_key=parent.fairness_key,
        labels=parent.labels,
        input=call.input,
        deadline=deadline,
        parent=parent.uid,
        parent_run=parent.run,
        parent_step=generation_key(call.key, step.generation),
        created_at=now,
        depth=parent.depth + 1,
    )


def too_deep(step: Step, limit: int) -> Reply:
    """The answer to a child step that has too many tasks above it."""
    message = (
        f"child {step.name}: expected at most {limit:,} tasks above one another (child_depth), found one more; "
        "use a loop or continue_as_new in place of recursion"
    )
    error = rows.error_object(message, "TooDeep", data={}, maybe_done=False)
    return Reply(
        task=step.task, run=step.run, key=step.key, attempt=step.attempt, outcome=Outcome.FAILED, error=error, calls=0
    )


def end_of(state: str, output: bytes | None, error: bytes | None, *, undoing: bool) -> bytes:
    """The row for a parent's inbox about a child's end; ``undoing``: whether its undo had begun."""
    outcome = {"state": state, "output": msgspec.Raw(output or b"null"), "error": msgspec.Raw(error or b"null")}
    return msgspec.json.encode(outcome | {"undoing": undoing})


def reply_of(body: bytes, step: Step) -> Reply:
    """A child's end, as the reply to the step that waits for it."""
    value = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    state = msgspec.json.decode(value["state"], type=str)
    done = state == TaskState.PROCESSED
    known = {} if done else failures.read(bytes(value["error"]))
    error = rows.error_object(
        known.get("message") or f"{step.key} ended {state}",
        "TaskEnded",
        state=state,
        data=known.get("data", {}),
    )
    return Reply(
        task=step.task,
        run=step.run,
        key=step.key,
        attempt=step.attempt,
        outcome=Outcome.COMPLETED if done else Outcome.FAILED,
        output=bytes(value["output"]) if done else None,
        error=None if done else error,
        # What a child in error did still stands, and so may what it was undone without.
        maybe_done=not done and (state not in UNDONE or bool(known.get("in_doubt"))),
    )
