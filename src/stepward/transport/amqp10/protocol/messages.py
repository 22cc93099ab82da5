"""AMQP 1.0 messages: encoded to be sent, and decoded as they arrive, also those that cannot be decoded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from proton import Message, ProtonException, symbol

from stepward.transport.queues.message_expiry import expiry

LOCKED_UNTIL = symbol("x-opt-locked-until")
"""An annotation of Azure Service Bus: the end of the lock, in milliseconds since 1970."""
TRIES = "stepward-tries"
"""A property: how often the message was taken before it was put here again."""
RETURNED = "stepward-returned"
"""A property: the message may have been delivered before, though it is new in this queue."""
EXPIRES = "stepward-expires"
"""A property: the instant by the store's clock past which a message is not taken."""
LONGEST_TTL_SECONDS = 4_000_000.0
"""The protocol counts milliseconds in 32 bits."""
UNREADABLE = (ProtonException, ValueError, TypeError, OverflowError, RecursionError)
"""What decoding a message of a foreign program raises: text that is no UTF-8, a map whose keys are lists."""


class Sent(Struct, frozen=True, gc=False):
    """A message to send; ``ttl`` in seconds, None for no end; ``group`` is the session at Azure Service Bus."""

    body: bytes
    ident: str
    content_type: str
    ttl: float | None = None
    group: str | None = None
    properties: Mapping[str, Any] | None = None

    def encoded(self) -> bytes:
        """The message's bytes on the wire, to be kept by the broker over a restart."""
        message = Message(body=self.body)
        message.inferred = True
        message.durable = True
        message.id = self.ident
        message.content_type = self.content_type
        if self.ttl is not None and self.ttl < LONGEST_TTL_SECONDS:
            message.ttl = max(self.ttl, 0.001)
        if self.group is not None:
            message.group_id = self.group
        if self.properties:
            message.properties = dict(self.properties)
        return bytes(message.encode())


class Asked(Struct, frozen=True, gc=False):
    """A request to a node of the broker, whose body is a value of AMQP's own types."""

    value: Any
    ident: str
    reply_to: str
    properties: Mapping[str, Any]

    def encoded(self) -> bytes:
        """The request's bytes on the wire."""
        message = Message(body=self.value)
        message.id = self.ident
        message.reply_to = self.reply_to
        message.properties = dict(self.properties)
        return bytes(message.encode())


class Arrived(Struct, frozen=True, gc=False):
    """A message as it arrived; ``ident`` is empty where its sender gave none."""

    body: bytes
    ident: str
    group: str | None
    deliveries: int
    """How often the broker delivered it before, as far as it counts; at least 1 for one that returned."""
    properties: Mapping[str, Any]
    annotations: Mapping[Any, Any]
    value: Any = None
    """A body that is no bytes."""
    correlates: str = ""
    """The id of the request that it answers."""
    ttl: float | None = None
    """Seconds for which the broker keeps it, as far as its sender said."""

    @property
    def locked_until(self) -> float | None:
        """The end of the broker's lock, in seconds since 1970; None where locks have no end."""
        found = self.annotations.get(LOCKED_UNTIL)
        return None if found is None else float(found) / 1000

    @property
    def tries(self) -> int:
        """How often it was taken before, here and before it was put here again."""
        carried = self.properties.get(TRIES, 0)
        return self.deliveries + (carried if isinstance(carried, int) and carried > 0 else 0)

    @property
    def is_returned(self) -> bool:
        """Whether it may have been delivered before."""
        return self.deliveries > 0 or bool(self.properties.get(RETURNED))

    def is_expired(self, now: float) -> bool:
        """Whether it has expired; expiries written by foreign programs are ignored."""
        found = self.properties.get(EXPIRES)
        return isinstance(found, float) and found <= now

    def expiry(self, now: float) -> float | None:
        """When it expires; a TTL at the broker counts from now."""
        return expiry(self.properties.get(EXPIRES), self.ttl, now)


def decoded(data: bytes, *, is_counted: bool) -> Arrived:
    """The message in these bytes of the wire; one that cannot be decoded is its bytes alone, and ends no connection.

    ``is_counted`` if the broker counts deliveries; if not, a delivery after the first counts as the second.
    """
    try:
        return _arrived(data, is_counted=is_counted)
    except UNREADABLE:
        return Arrived(data, "", None, 0, {}, {})


def _arrived(data: bytes, *, is_counted: bool) -> Arrived:
    message = Message()
    message.decode(data)
    body = message.body
    if isinstance(body, memoryview | bytearray):
        body = bytes(body)
    before = message.delivery_count if is_counted or message.first_acquirer else max(message.delivery_count, 1)
    return Arrived(
        body if isinstance(body, bytes) else str(body).encode(),
        str(message.id) if message.id is not None else "",
        message.group_id,
        before,
        _kept(message.properties or {}),
        _kept(message.annotations or {}),
        None if isinstance(body, bytes) else _kept(body),
        str(message.correlation_id or ""),
        message.ttl or None,
    )


def _kept(value: Any) -> Any:
    """A value whose bytes outlive the message: Proton gives views of memory that the message owns."""
    if isinstance(value, memoryview):
        return bytes(value)
    if isinstance(value, dict):
        return {name: _kept(each) for name, each in value.items()}
    return [_kept(each) for each in value] if isinstance(value, list) else value
