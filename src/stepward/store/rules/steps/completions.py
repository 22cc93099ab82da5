"""Decisions on steps that are finished from outside, the same in every store: from records alone."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from stepward.model import failures
from stepward.model.messages.requests import Outcome, RecordedReply
from stepward.model.records import InboxKind, Step, Task
from stepward.model.states import StepKind, StepState
from stepward.store.contract import Completion, Post, Refusal, RefusalReason

NOBODY_WAITS = frozenset({StepState.ABANDONED, StepState.SKIPPED})


def refusal(completion: Completion, task: Task | None, step: Step | None, now: float) -> Refusal | None:
    """Why the attempt cannot be ended so; None if it can."""
    if task is None or step is None:
        return Refusal(
            RefusalReason.GONE,
            f"completion of {completion.key}: expected a task that is kept, found none; there is nothing to finish",
        )
    found = _found(completion, task, step, now)
    if found is None:
        return None
    reason, words = found
    return Refusal(reason, f"completion of {step.key} of task {task.id}: expected it to run, found {words}")


def settled(completion: Completion, step: Step) -> Completion:
    """A completion as it is recorded: its error tells the truth of this step's every attempt."""
    if completion.error is None:
        return completion
    error = failures.settled(completion.error, attempt=step.attempt, maybe_done=step.in_doubt, before=step.error)
    return msgspec.structs.replace(completion, error=error)


def overtaken(completion: Completion, task: Task) -> Refusal:
    """The refusal when the attempt ended or moved at the same time."""
    message = f"completion of {completion.key} of task {task.id}: expected it to run, found it changed meanwhile"
    return Refusal(RefusalReason.OVER, message)


def recorded_reply(completion: Completion, now: float) -> Post:
    """What the owner reads of an outcome that is recorded already."""
    reply = RecordedReply(
        task=completion.task,
        run=completion.run,
        key=completion.key,
        attempt=completion.attempt,
        outcome=Outcome.COMPLETED if completion.error is None else Outcome.FAILED,
        output=completion.output,
        error=completion.error,
        recorded_at=now,
    )
    name = f"{completion.run}/{completion.key}"
    return Post(
        task=completion.task,
        kind=InboxKind.REPLY,
        name=name,
        body=msgspec.json.encode(reply),
        sender=completion.actor,
    )


def _found(completion: Completion, task: Task, step: Step, now: float) -> tuple[RefusalReason, str] | None:
    if step.attempt != completion.attempt or step.state is StepState.TO_REPEAT:
        return RefusalReason.REPEATED, "that the attempt ran out of time and is repeated; use the token of the next one"
    if step.state is not StepState.RUNNING:
        return _over(step)
    if task.undo_to is not None and step.kind is not StepKind.UNDO:
        return RefusalReason.UNDONE, "that its task is being undone; nothing goes forward any more"
    if step.complete_by is not None and step.complete_by <= now:
        by = datetime.fromtimestamp(step.complete_by, UTC).isoformat(timespec="seconds")
        return RefusalReason.LATE, f"its complete-by, {by}, past"
    return None


def _over(step: Step) -> tuple[RefusalReason, str]:
    if step.state is StepState.UNDONE:
        return RefusalReason.UNDONE, "it undone; nothing goes forward any more"
    if step.state in NOBODY_WAITS:
        return RefusalReason.OVER, f"it {step.state}: its outcome is no longer needed"
    if step.state is StepState.FAILED and _has_expired(step):
        return RefusalReason.LATE, "that it ran out of time and failed; its tokens are worth nothing any more"
    return RefusalReason.USED, f"it {step.state} already; a token is good once"


def _has_expired(step: Step) -> bool:
    return failures.read(step.error).get("type") == failures.EXPIRED
