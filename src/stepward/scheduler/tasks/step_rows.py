"""Step rows, moves and alerts, built from what the engine recorded and what Agents replied: pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from stepward.model import failures
from stepward.model.effects import key_of
from stepward.model.messages.requests import NEGATIVE, OUTCOME_COMPLETED, Reply, Request
from stepward.model.records import Alert, Step, Task
from stepward.model.states import COMPLETED, StepKind, StepState
from stepward.payload import encode
from stepward.scheduler.turn_budget import TURN_BYTES
from stepward.store.contract import Finish, StepMove, Watch
from stepward.workflow.decisions import Delivered, RecordedValue, StepCall

NEW_STEPS_PER_COMMIT = 250
LARGE_INPUT = TURN_BYTES // NEW_STEPS_PER_COMMIT
"""Bytes of arguments up to which so many steps do not reach TURN_BYTES."""


def are_full(inserts: Sequence[Step], call: StepCall) -> bool:
    """Whether a commit that inserts these steps leaves the one of ``call`` to the next."""
    if len(inserts) >= NEW_STEPS_PER_COMMIT:
        return True
    return len(call.input) > LARGE_INPUT and sum([len(step.input) for step in inserts]) >= TURN_BYTES


def again(step: Step, former: Step) -> None:
    """Begin a new generation of a step whose ``former`` one a repair set aside: attempts are counted on."""
    step.generation, step.attempt = former.generation + 1, former.attempt
    if step.attempt:
        step.state = StepState.TO_REPEAT


def recorded_step(task: Task, recorded: RecordedValue) -> Step:
    """The row of an outcome that the engine brought about itself."""
    return Step(
        task=task.uid,
        run=task.run,
        key=recorded.key,
        number=recorded.number,
        name=recorded.name,
        kind=StepKind(recorded.kind),
        state=COMPLETED,
        attempt=1,
        started_at=recorded.at,
        finished_at=recorded.at,
        ordinal=recorded.ordinal,
        asked=recorded.asked,
        input=recorded.input,
        output=recorded.output,
    )


def undo_request(request: Request, undone: Step) -> Request:
    """The request of an undo, with the key under which ``undone`` did what is now to be undone."""
    return msgspec.structs.replace(request, undoes=key_of(undone))


def settled(step: Step, reply: Reply) -> Reply:
    """A reply as it is recorded: the error of a failed attempt covers every attempt of this step."""
    if reply.outcome not in NEGATIVE:
        return reply
    maybe_done = step.in_doubt or reply.maybe_done
    error = failures.settled(reply.error, attempt=step.attempt, maybe_done=maybe_done, before=step.error)
    return msgspec.structs.replace(reply, error=error, maybe_done=maybe_done)


def finish(step: Step, reply: Reply, delivered: Delivered | None, now: float) -> Finish:
    """Record a reply that ends its step, and its delivery if it was ``delivered`` to the workflow."""
    done = reply.outcome is OUTCOME_COMPLETED
    return Finish(
        task=step.task,
        run=step.run,
        key=step.key,
        attempt=step.attempt,
        state=COMPLETED if done else StepState.FAILED,
        output=reply.output,
        error=reply.error,
        in_doubt=not done and (step.in_doubt or reply.maybe_done),
        ordinal=None if delivered is None else delivered.ordinal,
        finished_at=now,
        asked=None if delivered is None else delivered.asked,
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
