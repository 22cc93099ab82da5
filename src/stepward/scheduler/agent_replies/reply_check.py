"""The check of a step's reply: its result by the declaration of its operation, its error by its form and size.

A reply that cannot be read proves that its Agent did something, and not what: it is a failed attempt in doubt.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from stepward.errors import Refused
from stepward.model.action import Action
from stepward.model.failures import LONGEST_MESSAGE, UNREADABLE
from stepward.model.live_values import read_written
from stepward.model.messages.requests import NEGATIVE, Outcome, Reply
from stepward.payload import NULL, check_size, decode, encode

Operations = Mapping[str, Action[Any, Any]]
"""What this program knows of operations, by name; of others only that their results are JSON."""
ERROR_BYTES = 64 * 1024
"""Bytes of an error beside its data, which the payload limit bounds."""


class Complaint(Struct, omit_defaults=True):
    """What an error is at least."""

    message: str
    type: str = ""
    data: dict[str, Any] = {}
    at: str = ""
    traceback: str = ""


def checked(reply: Reply, limit: int, operations: Operations) -> Reply:
    """``reply`` as it may be recorded; one that cannot be read becomes an attempt that gave up in doubt."""
    try:
        if reply.outcome is Outcome.COMPLETED:
            return _completed(reply, limit, operations)
        return _negative(reply, limit) if reply.outcome in NEGATIVE else reply
    except Refused as error:
        return _unreadable(reply, error)


def _unreadable(reply: Reply, error: Refused) -> Reply:
    """The reply that is recorded in place of one that cannot be read."""
    failure = {
        "message": f"{reply.key}: what its Agent sent cannot be recorded: {error}",
        "type": UNREADABLE,
        "data": {},
    }
    return replace(
        reply,
        outcome=Outcome.GAVE_UP,
        output=None,
        written=None,
        error=encode(failure, "error"),
        maybe_done=True,
    )


def is_unreadable(reply: Reply) -> bool:
    """Whether ``reply`` stands for one that could not be read."""
    return reply.error is not None and f'"type":"{UNREADABLE}"'.encode() in reply.error


def _completed(reply: Reply, limit: int, operations: Operations) -> Reply:
    output = NULL if reply.output is None else reply.output
    check_size(output, "result", limit=limit)
    name, _, count = reply.key.rpartition("/")
    operation = operations.get(name) if count.isdecimal() else None
    if operation is None:
        decode(output, "result")
    else:
        # The workflow cannot be given a result of another type than the operation declares.
        operation.signature.result(output)
    if reply.written is not None:
        read_written(reply.written)
    return reply if output is reply.output else replace(reply, output=output, error=None)


def _negative(reply: Reply, limit: int) -> Reply:
    if reply.error is None:
        return reply
    check_size(reply.error, "error", limit=limit + ERROR_BYTES)
    found: Complaint = decode(reply.error, "error", Complaint)
    bounded = Complaint(
        message=found.message[:LONGEST_MESSAGE],
        type=found.type[:100],
        data=found.data,
        at=found.at[:1000],
        traceback=found.traceback[-ERROR_BYTES // 2 :],
    )
    return replace(reply, output=None, error=encode(bounded, "error", limit=limit + ERROR_BYTES))
