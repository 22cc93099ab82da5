"""Requests and replies as they travel over brokers: CloudEvents 1.0 in batches of JSON, for Agents in any language."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from stepward.model.cloudevents import instant
from stepward.model.messages import Outcome, Reply, Request, traceparent
from stepward.transport.contract import Message

BATCH = "application/cloudevents-batch+json"
"""The content type of a broker message."""
LONGEST = 2_000

Text = Annotated[str, Meta(min_length=1, max_length=LONGEST)]
Instant = Annotated[datetime, Meta(tz=True)]
Count = Annotated[int, Meta(ge=0, lt=2**31)]
"""CloudEvents' integers have 32 bits."""

FOREIGN = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError, OverflowError)


class Event(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag_field="type"):
    """What both have; attributes that we do not know are let pass and dropped."""

    specversion: Literal["1.0"]
    id: Text
    """The same for each publication of one attempt."""
    source: Text
    correlationid: Text
    """The task's uid."""
    run: Count
    step: Text
    attempt: Count
    time: Instant | None = None
    data: Raw | UnsetType = UNSET
    data_base64: bytes | None = None
    """In place of ``data`` if that is no JSON."""


class RequestEvent(Event, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag="stepward.request"):
    """A request; its data are the arguments."""

    subject: Text
    """The task's id."""
    expirytime: Instant
    """The complete-by, by the store's clock: past it the Agent stops and says nothing."""
    agent: Text
    operation: Text
    idempotencykey: Text
    replyto: Text
    """The queue for the reply."""
    priority: Count
    traceparent: str | None = None
    undo: bool = False
    undoes: Text | None = None


class ReplyEvent(Event, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag="stepward.reply"):
    """A reply; its data are what the operation returned, or the error object."""

    outcome: Outcome
    maybedone: bool = False
    calls: Count = 1


class Revocation(Struct, frozen=True, kw_only=True, gc=False, tag_field="type", tag="stepward.revocation"):
    """Word that nobody waits for a step any more; it travels alone."""

    specversion: Literal["1.0"]
    id: Text
    source: Text
    """The process that tells it: it need not hear it, too."""
    subject: Text
    """The queue of the step's Agent."""
    correlationid: Text
    run: Count
    step: Text


class Spoilt(Struct, frozen=True):
    """What a broker gave and nobody can use, with the reason in one line."""

    body: bytes
    reason: str


class Wire:
    """Encodes and decodes the messages of one application."""

    _encoder: ClassVar = msgspec.json.Encoder()
    _raw: ClassVar = msgspec.json.Decoder(Raw)
    _raws: ClassVar = msgspec.json.Decoder(list[Raw])
    _event: ClassVar = msgspec.json.Decoder(RequestEvent | ReplyEvent)
    _events: ClassVar = msgspec.json.Decoder(list[RequestEvent | ReplyEvent])

    def __init__(self, app: str) -> None:
        self._source = f"/stepward/{app}"

    def encode(self, message: Message, now: float) -> bytes:
        """One event; ``join`` makes a batch of several."""
        event = self._asked(message, now) if isinstance(message, Request) else self._answered(message, now)
        return self._encoder.encode(event)

    def decode(self, body: bytes) -> tuple[list[Message], list[Spoilt]]:
        """The messages of a batch, and what in it is none: that does not spoil its neighbours."""
        try:
            return [_message(event) for event in self._events.decode(body)], []
        except FOREIGN:
            return self._decode_apart(body)

    def _decode_apart(self, body: bytes) -> tuple[list[Message], list[Spoilt]]:
        try:
            parts = self._raws.decode(body)
        except FOREIGN as error:
            return [], [Spoilt(body, f"expected a batch of CloudEvents, found: {error}")]
        messages: list[Message] = []
        spoilt: list[Spoilt] = []
        for part in parts:
            try:
                messages.append(_message(self._event.decode(part)))
            except FOREIGN as error:
                spoilt.append(Spoilt(bytes(part), f"expected a request or a reply, found: {error}"))
        return messages, spoilt

    def _asked(self, request: Request, now: float) -> RequestEvent:
        data, other = self._data(request.input)
        return RequestEvent(
            specversion="1.0",
            id=f"{request.task}/{request.run}/{request.key}/{request.attempt}{'/undo' * request.undo}",
            source=self._source,
            subject=request.task_id,
            time=instant(now),
            expirytime=instant(request.complete_by),
            correlationid=request.task,
            traceparent=traceparent(request),
            agent=request.agent,
            operation=request.operation,
            run=request.run,
            step=request.key,
            attempt=request.attempt,
            undo=request.undo,
            undoes=request.undoes,
            idempotencykey=request.idempotency_key,
            replyto=request.reply_to,
            priority=request.priority,
            data=data,
            data_base64=other,
        )

    def _answered(self, reply: Reply, now: float) -> ReplyEvent:
        found = reply.output if reply.outcome is Outcome.COMPLETED else reply.error
        data, other = self._data(found) if found is not None else (UNSET, None)
        return ReplyEvent(
            specversion="1.0",
            id=f"{reply.task}/{reply.run}/{reply.key}/{reply.attempt}/reply",
            source=self._source,
            time=instant(now),
            correlationid=reply.task,
            run=reply.run,
            step=reply.key,
            attempt=reply.attempt,
            outcome=reply.outcome,
            maybedone=reply.maybe_done,
            calls=reply.calls,
            data=data,
            data_base64=other,
        )

    def _data(self, body: bytes) -> tuple[Raw | UnsetType, bytes | None]:
        try:
            return self._raw.decode(_readable(body)), None
        except FOREIGN:
            return UNSET, body


def join(events: Sequence[bytes]) -> bytes:
    """A batch of events."""
    return b"[" + b",".join(events) + b"]"


def encode_revocation(source: str, queue: str, task: str, run: int, key: str) -> bytes:
    """Word of a revocation."""
    ident = f"{task}/{run}/{key}/revocation"
    event = Revocation(specversion="1.0", id=ident, source=source, subject=queue, correlationid=task, run=run, step=key)
    return msgspec.json.encode(event)


def decode_revocation(body: bytes) -> Revocation | None:
    """What was revoked; None for what is no revocation."""
    try:
        return msgspec.json.decode(body, type=Revocation)
    except FOREIGN:
        return None


def _message(event: RequestEvent | ReplyEvent) -> Message:
    if "\0" in event.step or "\0" in event.correlationid:
        raise ValueError("a NUL character, which no store keeps")
    data = _data_of(event)
    return _request(event, data) if isinstance(event, RequestEvent) else _reply(event, data)


def _data_of(event: Event) -> bytes | None:
    return event.data_base64 if event.data is UNSET else _readable(bytes(event.data))


def _readable(body: bytes) -> bytes:
    """The body of a text; the decoder does not look into what it leaves as it is."""
    if not body.isascii():
        body.decode()
    return body


def _request(event: RequestEvent, data: bytes | None) -> Request:
    if data is None:
        raise ValueError("no data, which are the arguments")
    return Request(
        task=event.correlationid,
        task_id=event.subject,
        run=event.run,
        key=event.step,
        attempt=event.attempt,
        agent=event.agent,
        operation=event.operation,
        undo=event.undo,
        input=data,
        complete_by=event.expirytime.timestamp(),
        idempotency_key=event.idempotencykey,
        undoes=event.undoes,
        reply_to=event.replyto,
        priority=event.priority,
    )


def _reply(event: ReplyEvent, data: bytes | None) -> Reply:
    is_done = event.outcome is Outcome.COMPLETED
    return Reply(
        task=event.correlationid,
        run=event.run,
        key=event.step,
        attempt=event.attempt,
        outcome=event.outcome,
        output=data if is_done else None,
        error=None if is_done else data,
        maybe_done=event.maybedone,
        calls=event.calls,
    )
