"""Requests to Agents, and each reply that a request can have: hints, lost or doubled without harm."""

from __future__ import annotations

import re
from enum import StrEnum

from msgspec import Struct

from stepward.model.records import Step, Task
from stepward.model.states import UNDO
from stepward.model.tracing.span_ids import attempt_span_id, trace_id

WITHDRAWN = b'{"message":"withdrawn before it began: the step is no longer waited for","type":"Withdrawn","data":{}}'
RESPONSE_NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")


class Request(Struct, frozen=True, kw_only=True, gc=False, tag="request"):
    """A request to an Agent for one attempt of a step."""

    task: str
    task_id: str
    run: int
    key: str
    attempt: int
    agent: str
    operation: str
    undo: bool
    input: bytes
    """The argument array; for an undo the result (or null) comes before it."""
    complete_by: float
    """By the store's clock; past it the Agent stops and sends nothing (R6)."""
    idempotency_key: str
    undoes: str | None
    """For an undo: the idempotency key of the step that it undoes."""
    reply_to: str
    """The queue of the requesting Scheduler instance."""
    priority: int
    progress: bytes | None = None
    """The last progress of an earlier attempt."""
    proof: str | None = None
    """At a broker: the proof that the reply must repeat."""

    def completed(self, output: bytes, *, calls: int = 1, written: bytes | None = None) -> Reply:
        """The reply that the function returned, with the values that it wrote."""
        return Reply(
            task=self.task,
            run=self.run,
            key=self.key,
            attempt=self.attempt,
            outcome=OUTCOME_COMPLETED,
            output=output,
            written=written,
            calls=calls,
            agent=self.agent,
            proof=self.proof,
        )

    def failed(self, error: bytes, *, maybe_done: bool, calls: int = 1) -> Reply:
        """The reply that the attempt failed, and that a repeat would fail too."""
        return self._without_output(Outcome.FAILED, error, maybe_done=maybe_done, calls=calls)

    def gave_up(self, error: bytes, *, maybe_done: bool, calls: int = 1) -> Reply:
        """The reply that the attempt failed, and that another one may succeed."""
        return self._without_output(GAVE_UP, error, maybe_done=maybe_done, calls=calls)

    def never_began(self) -> Reply:
        """The reply that the request was withdrawn before an Agent took it."""
        return self.gave_up(WITHDRAWN, maybe_done=False, calls=0)

    def deferred(self, *, calls: int = 1) -> Reply:
        """The reply that the function has done its part, and that the step is finished from outside."""
        return self._without_output(DEFERRED, calls=calls)

    def progressed(self, value: bytes, at: float) -> Progress:
        """How far the function was at ``at``, by the store's clock."""
        return Progress(
            task=self.task,
            run=self.run,
            key=self.key,
            attempt=self.attempt,
            progress=value,
            at=at,
            agent=self.agent,
            proof=self.proof,
        )

    def _without_output(
        self, outcome: Outcome, error: bytes | None = None, *, maybe_done: bool = False, calls: int
    ) -> Reply:
        return Reply(
            task=self.task,
            run=self.run,
            key=self.key,
            attempt=self.attempt,
            outcome=outcome,
            error=error,
            maybe_done=maybe_done,
            calls=calls,
            agent=self.agent,
            proof=self.proof,
        )


MessageRow = tuple[str, bytes, float | None]
"""A message for a queue in the store: the queue, the body, and when it expires."""


class Outcome(StrEnum):
    """How an attempt ended at its Agent; past complete-by there is no reply at all."""

    COMPLETED = "completed"
    FAILED = "failed"
    GAVE_UP = "gave_up"
    """Retries used up: the owner ends the attempt now instead of at the complete-by."""
    DEFERRED = "deferred"
    """The Agent has done its part: the step runs until it is finished from outside, or to its complete-by."""


# Names for what every reply is compared with, as in model/states.py.
OUTCOME_COMPLETED, GAVE_UP, DEFERRED = Outcome.COMPLETED, Outcome.GAVE_UP, Outcome.DEFERRED
NEGATIVE = frozenset({Outcome.FAILED, GAVE_UP})
"""The outcomes of failed attempts: their replies carry an error."""


class Reply(Struct, frozen=True, kw_only=True, gc=False, tag="reply"):
    """An Agent's answer to a request."""

    task: str
    run: int
    key: str
    attempt: int
    outcome: Outcome
    output: bytes | None = None
    error: bytes | None = None
    """A JSON object: message, type, data, at, traceback."""
    written: bytes | None = None
    """Of a completed attempt: the values that it wrote, as ``model/live_values.py`` encodes them."""
    maybe_done: bool = False
    calls: int = 1
    """How often the Agent called the service within this attempt."""
    agent: str = ""
    """The Agent that answers; empty for a local step."""
    proof: str | None = None
    """The request's proof."""


class CheckedReply(Reply, frozen=True, kw_only=True, gc=False, tag="reply"):
    """A reply made by an Agent of this process, whose result fits its operation; at another process it is a reply."""


class RecordedReply(Reply, frozen=True, kw_only=True, gc=False, tag="reply"):
    """A reply as its task's owner reads it from the inbox."""

    recorded_at: float | None = None
    """When its outcome was recorded, if it was: then it is only to be delivered."""


class Progress(Struct, frozen=True, kw_only=True, gc=False, tag="progress"):
    """Progress of an Agent that goes on working on a request."""

    task: str
    run: int
    key: str
    attempt: int
    progress: bytes
    """Any JSON."""
    at: float
    """When it was reported, by the store's clock: the later of two counts."""
    agent: str = ""
    """The Agent that reports."""
    proof: str | None = None
    """The request's proof."""


def request_for(task: Task, step: Step, reply_to: str) -> Request:
    """The request for the present attempt of a running step."""
    return Request(
        task=step.task,
        task_id=task.id,
        run=step.run,
        key=step.key,
        attempt=step.attempt,
        agent=step.agent or "",
        operation=step.name,
        undo=step.kind is UNDO,
        input=step.input,
        complete_by=step.complete_by or 0.0,
        idempotency_key=idempotency_key(step.task, step.run, step.key, step.generation),
        undoes=None,
        reply_to=reply_to,
        priority=task.priority,
        progress=step.progress,
    )


def traceparent(request: Request) -> str:
    """The W3C traceparent of an attempt: the ids of the span that its Scheduler exports where it traces."""
    span_id = attempt_span_id(request.task, request.run, request.key, request.attempt)
    return f"00-{trace_id(request.task)}-{span_id.hex()}-01"


def request_queue(agent: str) -> str:
    """The queue that all instances of an Agent share."""
    return f"agents.{agent}"


def reply_queue(instance: str) -> str:
    """The queue of one Scheduler instance's replies."""
    return f"replies.{instance}"


def idempotency_key(task: str, run: int, key: str, generation: int) -> str:
    """The stable idempotency key of a step: the same in every attempt, repeat, recovery and resubmission of a
    generation."""
    return f"{task}/{run}/{key}" + (f"#{generation}" if generation else "")


def is_response_queue(queue: str, app: str) -> bool:
    """Whether it is a private response queue of the application, whose names begin with ``replies.<app>.``"""
    own = f"replies.{app}."
    return queue.startswith(own) and RESPONSE_NAME.fullmatch(queue, len(own)) is not None


def submission_queue(app: str, name: str) -> str:
    """The queue to which an application posts submissions."""
    return f"submissions.{app}.{name}"
