"""Updates: named requests to a task from outside, each answered at most once."""

from __future__ import annotations

from sys import intern

from msgspec import Raw, Struct

from stepward.errors import Refused
from stepward.payload import decode, encode

PREFIX = "update:"
"""The names of signals that carry updates begin with it."""
MESSAGE_CHARACTERS = 2_000
"""Most characters of the message of a rejection."""


class UpdateMessage(Struct, frozen=True):
    """An update as the task's inbox and its record hold it."""

    id: str
    value: Raw


class UpdateAnswer(Struct, frozen=True):
    """The answer to an update: JSON of the result, or an error object."""

    id: str
    is_accepted: bool
    body: bytes
    taken: int | None = None
    """The inbox number of an update that was rejected before workflow code received it."""


def rejection(id: str, message: str, taken: int | None = None) -> UpdateAnswer:
    """The answer that rejects an update."""
    # The text of an exception may hold what JSON cannot.
    printable = message[:MESSAGE_CHARACTERS].encode(errors="replace").decode()
    body = encode({"message": printable, "type": "UpdateRejected"}, "rejection")
    return UpdateAnswer(id, is_accepted=False, body=body, taken=taken)


def read_message(payload: bytes, name: str) -> UpdateMessage:
    """The update in an inbox row. Raises InvalidPayload."""
    found: UpdateMessage = decode(payload, f"update {name}", UpdateMessage)
    return found


def described(signal: str) -> str:
    """What a signal of that name is, for people: ``signal approval``, or ``update change_address``."""
    return intern(f"update {signal.removeprefix(PREFIX)}" if signal.startswith(PREFIX) else f"signal {signal}")


def refuse_update_name(name: str) -> None:
    """Raises Refused for the name of a signal that carries an update."""
    if name.startswith(PREFIX):
        raise Refused(
            f"signal {name[:60]!r}: expected a name that does not begin with {PREFIX!r}; use update and wait_for_update"
        )
