"""The events of the wire: CloudEvents 1.0 between Schedulers and Agents, and revocations."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from stepward.model.current_step import SEALED_PROGRESS_BYTES
from stepward.model.live_values import SEALED_WRITTEN_CHARACTERS
from stepward.model.messages.requests import Outcome

BATCH = "application/cloudevents-batch+json"
"""Content type of a broker message with a batch of events."""
SINGLE = "application/cloudevents+json"
"""Content type of a broker message with one event."""
LONGEST = 2_000

Text = Annotated[str, Meta(min_length=1, max_length=LONGEST)]
Instant = Annotated[datetime, Meta(tz=True)]
Count = Annotated[int, Meta(ge=0, lt=2**31)]
"""Integers in CloudEvents have 32 bits."""

FOREIGN = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError, OverflowError)


class WireEvent(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag_field="type"):
    """The attributes of requests and answers; unknown attributes are accepted and dropped."""

    specversion: Literal["1.0"]
    """The version of CloudEvents."""
    id: Text
    """The same for each publication of one attempt."""
    source: Text
    """The sender. Of a request: ``/stepward/`` and the application. Of a reply or progress: that, ``/agents.`` and
    the Agent."""
    store: Text | None = None
    """The identity of the store that holds the step, copied from the request; required since version 2."""
    proof: Text | None = None
    """Proof that an answer belongs to this request, copied from the request unchanged; required since version 2."""
    correlationid: Text
    """The task's uid."""
    run: Count
    """Which run of the task, from 1."""
    step: Text
    """The step's key: the operation's name and the number of its call, as in ``mail.send/1``."""
    attempt: Count
    """Which attempt of the step, from 1."""
    time: Instant | None = None
    """When the event was written, by the store's clock."""
    data: Raw | UnsetType = UNSET
    """JSON of any kind."""
    data_base64: bytes | None = None
    """Used in place of ``data`` for bytes that are no JSON."""


class RequestEvent(WireEvent, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag="stepward.request"):
    """A request; its data are the arguments."""

    subject: Text
    """The task's id."""
    expirytime: Instant
    """The complete-by, by the store's clock: past it the Agent stops and sends nothing."""
    agent: Text
    """The Agent's name."""
    operation: Text
    """The requested operation: ``mail.send``."""
    idempotencykey: Text
    """The same in every attempt of the step: the service acts once per key."""
    replyto: Text
    """The queue for the reply."""
    priority: Count
    """The task's priority, 0 (last) to 9 (first)."""
    traceparent: str | None = None
    """W3C trace context for calls of the service: the span of the attempt."""
    undo: bool = False
    """Whether the operation is to be undone: its result, or null if unknown, precedes the arguments."""
    undoes: Text | None = None
    """For an undo: the idempotency key of the step that it undoes."""
    progress: Annotated[str, Meta(max_length=SEALED_PROGRESS_BYTES)] | None = None
    """JSON as text: the last progress of an earlier attempt."""


class ReplyEvent(WireEvent, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag="stepward.reply"):
    """A reply; its data are the operation's result, or the error object."""

    outcome: Outcome
    """How the attempt ended; ``deferred``: the Agent has done its part, and another reply may follow."""
    maybedone: bool = False
    """Whether the service may have acted although the attempt failed: the step is then undone like a completed one."""
    written: Annotated[str, Meta(max_length=SEALED_WRITTEN_CHARACTERS)] | None = None
    """JSON as text: the values that a completed attempt wrote, recorded with its outcome: an object with the published
    values by name in ``publish``, and lists of values by name of their stream in ``stream``."""
    calls: Count = 1
    """How often the service was called within this attempt."""


class ProgressEvent(WireEvent, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag="stepward.progress"):
    """Progress of an Agent that goes on working; its data are JSON of at most 2,048 bytes."""

    time: Instant
    """The time of the progress: of two events the later one counts."""


class Revocation(
    Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag_field="type", tag="stepward.revocation"
):
    """Revocation of a step: its result is no longer needed; never batched."""

    specversion: Literal["1.0"]
    """The version of CloudEvents."""
    id: Text
    """The same for each repetition."""
    source: Text
    """The process that sends it, which may ignore it."""
    subject: Text
    """The queue of the step's Agent."""
    correlationid: Text
    """The task's uid."""
    run: Count
    """Which run of the task, from 1."""
    step: Text
    """The step's key."""
    attempt: Annotated[int, Meta(ge=0)] = 0
    """The last requested attempt: no request up to it is needed. 0: only running attempts are revoked."""


def encode_revocation(source: str, queue: str, task: str, run: int, key: str, attempt: int = 0) -> bytes:
    """The event of a revocation."""
    ident = f"{task}/{run}/{key}/revocation"
    event = Revocation(
        specversion="1.0",
        id=ident,
        source=source,
        subject=queue,
        correlationid=task,
        run=run,
        step=key,
        attempt=attempt,
    )
    return msgspec.json.encode(event)


def decode_revocation(body: bytes) -> Revocation | None:
    """The revocation; None for anything else."""
    try:
        return msgspec.json.decode(body, type=Revocation)
    except FOREIGN:
        return None
