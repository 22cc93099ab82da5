"""Replies to a Scheduler that does not hold their task: what is recorded of them, and how they are forwarded."""

from __future__ import annotations

import msgspec

from stepward.model import failures
from stepward.model.messages.requests import Outcome, Reply
from stepward.model.records import InboxKind, Step
from stepward.model.states import StepState
from stepward.store.contract import Finish, Post

RECORDED = {Outcome.COMPLETED: StepState.COMPLETED, Outcome.FAILED: StepState.FAILED}


def finish_of(reply: Reply, step: Step | None, now: float) -> Finish | None:
    """The outcome that a reply records for a step of a task without an owner; None if it is none."""
    state = RECORDED.get(reply.outcome)
    if state is None or step is None:
        return None
    has_failed = state is StepState.FAILED
    maybe_done = has_failed and (step.in_doubt or reply.maybe_done)
    error = reply.error
    if has_failed:
        error = failures.settled(error, attempt=reply.attempt, maybe_done=maybe_done, before=step.error)
    return Finish(
        task=reply.task,
        run=reply.run,
        key=reply.key,
        attempt=reply.attempt,
        state=state,
        output=reply.output,
        error=error,
        in_doubt=maybe_done,
        ordinal=None,
        finished_at=now,
    )


def reply_post(reply: Reply) -> Post:
    """The inbox row by which a reply reaches the task's owner."""
    name = f"{reply.run}/{reply.key}"
    return Post(task=reply.task, kind=InboxKind.REPLY, name=name, body=msgspec.json.encode(reply))
