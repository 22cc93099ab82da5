"""References to payloads that are kept outside the store: the claim check, in the place of what it stands for.

A reference is a JSON object, so that it passes wherever a payload does. An undo that is written where payloads are not
at hand has its two parts side by side, each perhaps a reference.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
from msgspec import Raw, Struct

MARK = "stepward.reference"
BEGINNING = b'{"stepward.reference":"'
"""The first bytes of every reference."""
JOINED = b'{"stepward.joined":['
"""The first bytes of the arguments of an undo of which a part is kept elsewhere."""
ELSEWHERE = (BEGINNING, JOINED)
SHOWN_NAME = "kept_outside_the_store"
"""The field by which operators see that a value is kept elsewhere."""


class Reference(Struct, frozen=True, kw_only=True, omit_defaults=True, rename={"name": MARK, "size": "bytes"}):
    """Where a payload is kept, and what it must be."""

    name: str
    """The object, below the application's folder."""
    size: int
    """The length of the payload."""
    digest: str
    """SHA-256 of the payload, in hexadecimal digits."""
    key: bytes | None = None
    """The key that encrypts this object alone; None where payloads are not encrypted."""


_references = msgspec.json.Decoder(Reference)
_parts = msgspec.json.Decoder(dict[str, tuple[Raw, Raw]])


def is_elsewhere(data: bytes) -> bool:
    """Whether the payload, or a part of it, has to be fetched."""
    return data.startswith(ELSEWHERE)


def reference_of(data: bytes) -> Reference | None:
    """The reference; None for anything else."""
    try:
        return _references.decode(data) if data.startswith(BEGINNING) else None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def written(reference: Reference, shown: bytes = b"") -> bytes:
    """The reference as a payload; ``shown`` is a part of a JSON object, with a comma before it, that stays readable."""
    return msgspec.json.encode(reference)[:-1] + shown + b"}"


def joined(output: bytes, input: bytes) -> bytes:
    """The arguments of an undo of which a part is kept elsewhere: the result, then the operation's arguments."""
    return JOINED + output + b"," + input + b"]}"


def parts_of(data: bytes) -> tuple[bytes, bytes]:
    """The result and the arguments that ``joined`` put side by side. Raises msgspec.MsgspecError for other text."""
    (output, input), *_ = _parts.decode(data).values()
    return bytes(output), bytes(input)


def shown_reference(data: bytes) -> dict[str, Any] | None:
    """What operators see of it: the object, its length and digest, and the fields that stay readable; None for anything
    else. The key of the object is not shown."""
    found = reference_of(data)
    if found is None:
        return None
    rest = {name: value for name, value in msgspec.json.decode(data).items() if name not in (MARK, "key")}
    return {SHOWN_NAME: found.name, **rest}


def same_payload(one: bytes, other: bytes) -> bool:
    """Whether two payloads, or what they refer to, are equal."""
    if one == other or not (one.startswith(BEGINNING) or other.startswith(BEGINNING)):
        return one == other
    return _digest(one) == _digest(other)


def _digest(data: bytes) -> str:
    found = reference_of(data)
    return hashlib.sha256(data).hexdigest() if found is None else found.digest
