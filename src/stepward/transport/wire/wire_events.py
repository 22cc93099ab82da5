"""The events of the wire: CloudEvents 1.0 between Schedulers and Agents, and revocations."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from stepward.model.current import PROGRESS_BYTES
from stepward.model.messages.requests import Outcome

BATCH = "application/cloudevents-batch+json"
"""The content type of a broker message."""
SINGLE = "application/cloudevents+json"
"""That of one that travels alone."""
LONGEST = 2_000

Text = Annotated[str, Meta(min_length=1, max_length=LONGEST)]
Instant = Annotated[datetime, Meta(tz=True)]
Count = Annotated[int, Meta(ge=0, lt=2**31)]
"""CloudEvents' integers have 32 bits."""

FOREIGN = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError, OverflowError)


class WireEvent(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag_field="type"):
    """What both have; attributes that we do not know are let pass and dropped."""

    specversion: Literal["1.0"]
    """The version of CloudEvents."""
    id: Text
    """The same for each publication of one attempt."""
    source: Text
    """Who writes it. A request: ``/stepward/`` and the application. A reply and progress: that, ``/agents.`` and the
    Agent."""
    store: Text | None = None
    """The identity of the store whose step it is about, as the request says it; always there since version 2."""
    proof: Text | None = None
    """What makes an answer one to this very request: it repeats it as it is; always there since version 2."""
    correlationid: Text
    """The task's uid."""
    run: Count
    """Which run of the task, from 1."""
    step: Text
    """The step's key: the operation's name and which of its calls this is, as in ``mail.send/1``."""
    attempt: Count
    """Which attempt of the step, from 1."""
    time: Instant | None = None
    """When it was written, by the store's clock."""
    data: Raw | UnsetType = UNSET
    """Any JSON."""
    data_base64: bytes | None = None
    """In place of ``data`` if that is no JSON."""


class RequestEvent(WireEvent, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag="stepward.request"):
    """A request; its data are the arguments."""

    subject: Text
    """The task's id."""
    expirytime: Instant
    """The complete-by, by the store's clock: past it the Agent stops and says nothing."""
    agent: Text
    """The Agent's name."""
    operation: Text
    """What is asked of it: ``mail.send``."""
    idempotencykey: Text
    """The same in every attempt of the step: for the service, which acts once under it."""
    replyto: Text
    """The queue for the reply."""
    priority: Count
    """The task's, 0 (last) to 9 (first)."""
    traceparent: str | None = None
    """W3C Trace Context, for the calls of the service."""
    undo: bool = False
    """Whether the operation is to be undone: its result, or null where that is unknown, comes before the arguments."""
    undoes: Text | None = None
    """For an undo: the idempotency key of what it undoes."""
    progress: Annotated[str, Meta(max_length=PROGRESS_BYTES)] | None = None
    """JSON as text: what an attempt before this one told of its progress last."""


class ReplyEvent(WireEvent, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag="stepward.reply"):
    """A reply; its data are what the operation returned, or the error object."""

    outcome: Outcome
    """How the attempt ended; ``deferred``: the Agent has done its part, and another reply may still follow."""
    maybedone: bool = False
    """Whether the service may have acted although the attempt failed: then the step is undone like one that did."""
    calls: Count = 1
    """How often the service was called within this attempt."""


class ProgressEvent(WireEvent, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag="stepward.progress"):
    """How far an Agent is that goes on working; its data are any JSON of at most 2,048 bytes."""

    time: Instant
    """When that was: what was told later stands."""


class Revocation(
    Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag_field="type", tag="stepward.revocation"
):
    """Word that nobody waits for a step any more; it travels alone."""

    specversion: Literal["1.0"]
    """The version of CloudEvents."""
    id: Text
    """The same whenever it is told."""
    source: Text
    """The process that tells it: it need not hear it, too."""
    subject: Text
    """The queue of the step's Agent."""
    correlationid: Text
    """The task's uid."""
    run: Count
    """Which run of the task, from 1."""
    step: Text
    """The step's key."""
    attempt: Annotated[int, Meta(ge=0)] = 0
    """The last attempt that was asked for: no request of the step up to it is wanted. 0: those at work alone."""


def encode_revocation(source: str, queue: str, task: str, run: int, key: str, attempt: int = 0) -> bytes:
    """Word of a revocation."""
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
    """What was revoked; None for what is no revocation."""
    try:
        return msgspec.json.decode(body, type=Revocation)
    except FOREIGN:
        return None
