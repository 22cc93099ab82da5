"""Step rows and requests, built from what the engine asks and what the store holds: pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from stepward.model.messages import Outcome, Reply, Request, idempotency_key
from stepward.model.records import Alert, Step, Task
from stepward.model.states import StepKind, StepState
from stepward.payload import encode
from stepward.store.contract import Finish, StepMove, Watch
from stepward.workflow.decisions import Recorded, StepCall
from stepward.workflow.undo import undo_input, undo_key

CHILD_SEPARATOR = "/"


def new_step(task: Task, call: StepCall) -> Step:
    """The row of a step that the workflow asked for, not yet started."""
    action = call.action
    return Step(
        task=task.uid,
        run=task.run,
        key=call.key,
        number=call.number,
        name=action.name,
        kind=action.kind,
        state=StepState.NOT_STARTED,
        agent=action.agent,
        complete_seconds=action.complete_seconds,
        input=call.input,
        has_undo=action.has_undo,
        irreversible=action.irreversible,
    )


def recorded_step(task: Task, recorded: Recorded) -> Step:
    """The row of an outcome that the engine brought about itself."""
    return Step(
        task=task.uid,
        run=task.run,
        key=recorded.key,
        number=recorded.number,
        name=recorded.name,
        kind=StepKind(recorded.kind),
        state=StepState.COMPLETED,
        attempt=1,
        started_at=recorded.at,
        finished_at=recorded.at,
        ordinal=recorded.ordinal,
        input=recorded.input,
        output=recorded.output,
    )


def undo_step(step: Step) -> Step:
    """The row of the undo of ``step``, not yet started."""
    return Step(
        task=step.task,
        run=step.run,
        key=undo_key(step),
        number=step.number,
        name=step.name,
        kind=StepKind.UNDO,
        state=StepState.NOT_STARTED,
        agent=step.agent,
        complete_seconds=step.complete_seconds,
        input=undo_input(step),
    )


def start(step: Step, task: Task, now: float) -> None:
    """Begin the next attempt: its complete-by counts from now, and never passes the task's own (undo has none)."""
    step.state = StepState.RUNNING
    step.attempt += 1
    step.started_at = now
    step.watched = False
    step.repeat_at = None
    step.deferred_at = None
    step.complete_by = _complete_by(step, task, now)


def _complete_by(step: Step, task: Task, now: float) -> float | None:
    if step.complete_seconds is None:
        return None
    own = now + step.complete_seconds
    if task.complete_by is None or step.kind is StepKind.UNDO:
        return own
    return min(own, task.complete_by)


def request(task: Task, step: Step, reply_to: str) -> Request:
    """What an Agent is asked for a running step."""
    return Request(
        task=step.task,
        task_id=task.id,
        run=step.run,
        key=step.key,
        attempt=step.attempt,
        agent=step.agent or "",
        operation=step.name,
        undo=step.kind is StepKind.UNDO,
        input=step.input,
        complete_by=step.complete_by or 0.0,
        idempotency_key=idempotency_key(step.task, step.run, step.key, step.generation),
        undoes=None,
        reply_to=reply_to,
        priority=task.priority,
        progress=step.progress,
    )


def undo_request(request: Request, steps: Iterable[Step]) -> Request:
    """The request of an undo, with the key under which a step among ``steps`` did what is now undone."""
    undone = next(s for s in steps if s.run == request.run and request.key == undo_key(s))
    key = idempotency_key(undone.task, undone.run, undone.key, undone.generation)
    return msgspec.structs.replace(request, undoes=key)


def finish(step: Step, reply: Reply, ordinal: int | None, now: float) -> Finish:
    """Record a reply that ends its step."""
    done = reply.outcome is Outcome.COMPLETED
    return Finish(
        task=step.task,
        run=step.run,
        key=step.key,
        attempt=step.attempt,
        state=StepState.COMPLETED if done else StepState.FAILED,
        output=reply.output,
        error=reply.error,
        in_doubt=not done and (step.in_doubt or reply.maybe_done),
        ordinal=ordinal,
        finished_at=now,
    )


def watch(step: Step, complete_by: float, reply: Reply | None = None) -> Watch:
    """Have the Supervisor look at a running attempt."""
    return Watch(
        task=step.task,
        run=step.run,
        key=step.key,
        attempt=step.attempt,
        complete_by=complete_by,
        error=reply.error if reply else step.error,
        in_doubt=step.in_doubt or (reply.maybe_done if reply else False),
        deferred_at=step.deferred_at,
    )


def move(step: Step, after: StepState, now: float) -> StepMove:
    """Move a committed step, and the memory of it, to ``after``."""
    before, step.state = step.state, after
    return StepMove(task=step.task, run=step.run, key=step.key, before=before, after=after, at=now)


def child_uid(parent: Task, key: str) -> str:
    """The uid of a child: the parent's never repeats, so neither does this, and a crash changes nothing of it."""
    return f"{parent.uid}/{parent.run}/{key}"


def child_task(parent: Task, call: StepCall, version: str, complete_by: float | None, now: float) -> Task:
    """The task that a child step starts."""
    run = "" if parent.run == 1 else f"{parent.run}{CHILD_SEPARATOR}"
    return Task(
        uid=child_uid(parent, call.key),
        id=f"{parent.id}/{run}{call.key}",
        workflow=call.action.name,
        version=version,
        priority=parent.priority,
        fairness_key=parent.fairness_key,
        labels=parent.labels,
        input=call.input,
        complete_by=complete_by,
        parent=parent.uid,
        parent_run=parent.run,
        parent_step=call.key,
        created_at=now,
    )


def error_object(message: str, kind: str, **more: Any) -> bytes:
    """The JSON of a task's error."""
    return encode({"message": message, "type": kind, **more}, "error")


def alert(task: Task, kind: str, message: str, now: float, *, step: str | None = None, **details: Any) -> Alert:
    """An alert about a task, to be committed with the state that needs it."""
    return Alert(
        at=now,
        kind=kind,
        task=task.uid,
        task_id=task.id,
        step=step,
        message=message,
        details=encode(details, "alert"),
    )


def ended_body(state: str, output: bytes | None, error: bytes | None, *, undoing: bool) -> bytes:
    """What a parent's inbox is told of a child's end; ``undoing`` whether its undo had begun."""
    told = {"state": state, "output": msgspec.Raw(output or b"null"), "error": msgspec.Raw(error or b"null")}
    return msgspec.json.encode(told | {"undoing": undoing})
