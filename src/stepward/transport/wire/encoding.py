"""Requests and replies at brokers: CloudEvents 1.0 in batches of JSON, for Agents in any language."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import msgspec
from msgspec import UNSET, Raw, UnsetType
from msgspec.structs import replace

from stepward.model.current_step import PROGRESS_BYTES, SEALED_PROGRESS_BYTES, SHORTEN
from stepward.model.messages.cloudevents import instant
from stepward.model.messages.requests import Outcome, Progress, Reply, Request, traceparent
from stepward.model.messages.signing import Signer
from stepward.payload import cause, check_size
from stepward.payload.sealed import is_sealed
from stepward.transport.broker.dead_letters import LONGEST_REASON, BrokerDeadLetter
from stepward.transport.broker.rejections import Rejection, rejection
from stepward.transport.contract import AgentMessage
from stepward.transport.wire.wire_events import FOREIGN, ProgressEvent, ReplyEvent, RequestEvent

MOST_APART = 1_000
"""Most events of a partly unreadable batch that are read one by one; a larger batch is one dead letter."""


class Read(NamedTuple):
    """The contents of a broker message."""

    messages: list[AgentMessage]
    spoilt: list[BrokerDeadLetter]
    """Unreadable parts; they do not affect the others."""
    rejected: list[Rejection]
    """Messages of another store, or without a valid proof."""


class Wire:
    """Encodes and decodes the messages of one application; ``signer`` is its store's."""

    _encoder: ClassVar = msgspec.json.Encoder()
    _raw: ClassVar = msgspec.json.Decoder(Raw)
    _raws: ClassVar = msgspec.json.Decoder(list[Raw])
    _event: ClassVar = msgspec.json.Decoder(RequestEvent | ReplyEvent | ProgressEvent)
    _events: ClassVar = msgspec.json.Decoder(list[RequestEvent | ReplyEvent | ProgressEvent])

    def __init__(self, app: str, signer: Signer) -> None:
        self._source = f"/stepward/{app}"
        self._agents = f"/stepward/{app}/agents."
        self._signer = signer

    def encode(self, message: AgentMessage, now: float) -> bytes:
        """The message as one event; ``join`` makes a batch of several."""
        if isinstance(message, Request):
            return self._encoder.encode(self._asked(message, now))
        event = self._answered(message, now) if isinstance(message, Reply) else self._progress_event(message)
        return self._encoder.encode(event)

    def signed(self, request: Request) -> Request:
        """The request with its proof."""
        return request if request.proof is not None else replace(request, proof=self._proof(request))

    def decode(self, body: bytes) -> Read:
        """The contents of a batch."""
        read = Read([], [], [])
        try:
            for event in self._events.decode(body):
                self._admit(event, read)
        except FOREIGN:
            return self._decode_apart(body)
        return read

    def _decode_apart(self, body: bytes) -> Read:
        read = Read([], [], [])
        try:
            parts = self._raws.decode(body)
        except FOREIGN as error:
            read.spoilt.append(BrokerDeadLetter(body, _reason("a batch of CloudEvents", error)))
            return read
        if len(parts) > MOST_APART:
            found = f"{len(parts):,}, of which some cannot be read"
            read.spoilt.append(
                BrokerDeadLetter(body, f"expected at most {MOST_APART:,} events in a batch, found {found}")
            )
            return read
        for part in parts:
            try:
                self._admit(self._event.decode(part), read)
            except FOREIGN as error:
                read.spoilt.append(BrokerDeadLetter(bytes(part), _reason("a request or a reply", error)))
        return read

    def _admit(self, event: RequestEvent | ReplyEvent | ProgressEvent, read: Read) -> None:
        """Sort a decoded event into ``read``. Raises one of ``FOREIGN`` if it is invalid after all."""
        agent = event.agent if isinstance(event, RequestEvent) else self._agent_of(event.source)
        message = _message(event, agent)
        signer, proof = self._signer, event.proof
        if (
            proof is not None
            and event.store == signer.store
            and signer.is_genuine(proof, event.correlationid, event.run, event.step, event.attempt, agent)
        ):
            read.messages.append(message)
        else:
            read.rejected.append(rejection(event, signer.store))

    def _agent_of(self, source: str) -> str:
        return source[len(self._agents) :] if source.startswith(self._agents) else ""

    def _proof(self, request: Request) -> str:
        return self._signer.proof(request.task, request.run, request.key, request.attempt, request.agent)

    def _asked(self, request: Request, now: float) -> RequestEvent:
        data, other = self._data(request.input)
        return RequestEvent(
            specversion="1.0",
            id=f"{request.task}/{request.run}/{request.key}/{request.attempt}{'/undo' * request.undo}",
            source=self._source,
            store=self._signer.store,
            proof=request.proof or self._proof(request),
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
            progress=None if request.progress is None else request.progress.decode(errors="replace"),
            data=data,
            data_base64=other,
        )

    def _answered(self, reply: Reply, now: float) -> ReplyEvent:
        found = reply.output if reply.outcome is Outcome.COMPLETED else reply.error
        data, other = self._data(found) if found is not None else (UNSET, None)
        return ReplyEvent(
            specversion="1.0",
            id=f"{reply.task}/{reply.run}/{reply.key}/{reply.attempt}/reply",
            source=self._agents + reply.agent,
            store=self._signer.store,
            proof=reply.proof,
            time=instant(now),
            correlationid=reply.task,
            run=reply.run,
            step=reply.key,
            attempt=reply.attempt,
            outcome=reply.outcome,
            maybedone=reply.maybe_done,
            written=None if reply.written is None else reply.written.decode(errors="replace"),
            calls=reply.calls,
            data=data,
            data_base64=other,
        )

    def _progress_event(self, progress: Progress) -> ProgressEvent:
        data, other = self._data(progress.progress)
        return ProgressEvent(
            specversion="1.0",
            id=f"{progress.task}/{progress.run}/{progress.key}/{progress.attempt}/progress/{progress.at:.6f}",
            source=self._agents + progress.agent,
            store=self._signer.store,
            proof=progress.proof,
            time=instant(progress.at),
            correlationid=progress.task,
            run=progress.run,
            step=progress.key,
            attempt=progress.attempt,
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


def _reason(expected: str, error: Exception) -> str:
    """The reason why it cannot be read, cut to a bounded length: an error may quote the whole input."""
    return f"expected {expected}, found {cause(error)}"[:LONGEST_REASON]


def _message(event: RequestEvent | ReplyEvent | ProgressEvent, agent: str) -> AgentMessage:
    if "\0" in event.step or "\0" in event.correlationid:
        raise ValueError("a NUL character, which no store keeps")
    if isinstance(event, ReplyEvent):
        return _reply(event, agent)
    data = event.data_base64 if event.data is UNSET else _readable(bytes(event.data))
    return _request(event, data) if isinstance(event, RequestEvent) else _progress(event, data, agent)


def _readable(body: bytes) -> bytes:
    """The bytes, checked to be UTF-8: the decoder skips raw values unread."""
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
        progress=None if event.progress is None else event.progress.encode(),
        proof=event.proof,
    )


def _progress(event: ProgressEvent, data: bytes | None, agent: str) -> Progress:
    if data is None or event.data is UNSET:
        raise ValueError("no data, which are the progress")
    limit = SEALED_PROGRESS_BYTES if is_sealed(data) else PROGRESS_BYTES
    check_size(data, "progress", limit=limit, advice=SHORTEN)
    return Progress(
        task=event.correlationid,
        run=event.run,
        key=event.step,
        attempt=event.attempt,
        progress=data,
        at=event.time.timestamp(),
        agent=agent,
        proof=event.proof,
    )


def _reply(event: ReplyEvent, agent: str) -> Reply:
    """The reply with unchecked data: the Scheduler checks them, as it decides what follows for the step."""
    data = event.data_base64 if event.data is UNSET else bytes(event.data)
    is_done = event.outcome is Outcome.COMPLETED
    return Reply(
        task=event.correlationid,
        run=event.run,
        key=event.step,
        attempt=event.attempt,
        outcome=event.outcome,
        output=data if is_done else None,
        error=None if is_done else data,
        written=event.written.encode() if is_done and event.written is not None else None,
        maybe_done=event.maybedone,
        calls=event.calls,
        agent=agent,
        proof=event.proof,
    )
