"""A status event as it leaves for a webhook: the stored one, without what must not leave."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from msgspec import Raw

from stepward.payload.references import is_elsewhere
from stepward.payload.sealed import is_sealed
from stepward.payload.secret_values import redacted_text

LARGEST_DATA = 256 * 1024
"""Bytes of an event's data that are sent; receivers refuse large posts."""


class OutgoingEvent(NamedTuple):
    """A post to a webhook: the event's id, and its body."""

    id: str
    body: bytes


def outgoing(stored: bytes) -> OutgoingEvent:
    """The event without secrets; without its data where they are encrypted, or too large to be posted.

    Raises ValueError for what is no event.
    """
    try:
        fields = msgspec.json.decode(stored, type=dict[str, Raw])
        id, data = msgspec.json.decode(fields["id"], type=str), bytes(fields["data"])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, KeyError) as error:
        raise ValueError(f"expected a status event, found: {error}") from None
    if is_sealed(data):
        fields["data"] = Raw(b'{"omitted":"encrypted"}')
    elif is_elsewhere(data) or len(data) > LARGEST_DATA:
        fields["data"] = Raw(b'{"omitted":"large"}')
    else:
        fields["data"] = Raw(redacted_text(data))
    return OutgoingEvent(id, msgspec.json.encode(fields))


def task_of(id: str) -> str:
    """The task of the event of that id, whose events are delivered in order."""
    return id.rpartition("/")[0]
