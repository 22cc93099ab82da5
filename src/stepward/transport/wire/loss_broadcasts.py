"""Broadcasts among the processes of an application that a queue lost its messages: their senders send them again."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct

from stepward.transport.wire.wire_events import FOREIGN


class Loss(Struct, frozen=True, kw_only=True, gc=False, tag_field="type", tag="stepward.loss"):
    """A loss; never batched."""

    specversion: Literal["1.0"]
    """The version of CloudEvents."""
    id: str
    """A random id for each loss."""
    source: str
    """The application: ``/stepward/orders``."""
    subject: str
    """The queue."""


def encode_loss(app: str, ident: str, queue: str) -> bytes:
    """The event of a loss."""
    return msgspec.json.encode(Loss(specversion="1.0", id=ident, source=f"/stepward/{app}", subject=queue))


def decode_loss(body: bytes) -> str | None:
    """The queue that lost messages; None for anything else."""
    try:
        return msgspec.json.decode(body, type=Loss).subject
    except FOREIGN:
        return None
