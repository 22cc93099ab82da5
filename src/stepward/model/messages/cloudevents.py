"""CloudEvents 1.0 in JSON: the format of submissions and status events."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal

import msgspec
from msgspec import Struct

from stepward.errors import InvalidPayload
from stepward.payload import cause

SEQUENCE_DIGITS = 10
LONGEST_ATTRIBUTE = 1_000
OURS = b'{"specversion":'
"""The beginning of a status event in the store."""


class CloudEvent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An event at a broker; unknown attributes are accepted and dropped."""

    id: str
    source: str
    type: str
    subject: str | None = None
    time: datetime | None = None
    sequence: str | None = None
    """The position of the event among those of its subject, from 1: digits, so that texts sort like numbers."""
    replyto: str | None = None
    """The private response queue for the task's events."""
    datacontenttype: str | None = None
    traceparent: Any = None
    """W3C trace context of the sender; one that is none counts for nothing."""
    store: str | None = None
    """The identity of the store addressed, or of the sending one."""
    data: msgspec.Raw = msgspec.Raw(b"null")
    specversion: Literal["1.0"]


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(CloudEvent)


def encode_event(event: CloudEvent) -> bytes:
    """The event as JSON in structured mode."""
    return _encoder.encode(event)


def stamped(event: bytes, store: str) -> bytes:
    """A stored status event with the identity of its store."""
    return b'{"store":"%b",%b' % (store.encode(), event[1:]) if event.startswith(OURS) else event


def decode_event(body: bytes) -> CloudEvent:
    """The event in a message's body. Raises InvalidPayload with one line."""
    try:
        event = _decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        start = body[:60].decode(errors="replace")
        raise InvalidPayload(
            f"message: expected a CloudEvent 1.0 in JSON, found {cause(error):.{LONGEST_ATTRIBUTE}} in {start!r}"
        ) from None
    for name in ("id", "source", "type"):
        if not 0 < len(getattr(event, name)) <= LONGEST_ATTRIBUTE:
            raise InvalidPayload(f"message: expected 1 to {LONGEST_ATTRIBUTE:,} characters as its {name}, found other")
    return event


def message_id(body: bytes) -> str:
    """The id of a message, which is its task's; text that is no message has none."""
    try:
        return decode_event(body).id
    except InvalidPayload:
        return ""


def instant(seconds: float) -> datetime:
    """An instant of the store's clock, as a datetime in UTC."""
    return datetime.fromtimestamp(seconds, UTC)


def sequence_text(sequence: int) -> str:
    """A sequence number as the attribute's text."""
    return f"{sequence:0{SEQUENCE_DIGITS}d}"


def data_of(event: CloudEvent, kind: Any = Any) -> Any:
    """The event's data, as ``kind``. Raises InvalidPayload with one line."""
    try:
        return msgspec.json.decode(event.data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidPayload(
            f"message {event.id[:100]!r}: expected data that fits, found {cause(error):.{LONGEST_ATTRIBUTE}}"
        ) from None
