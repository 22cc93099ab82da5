"""Encrypted payloads: the form in which they are stored and sent, and the port of what seals and opens them.

A sealed payload is a JSON object: the id of its key, the ciphertext, and copies of the fields that stay readable.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Protocol

import msgspec
from msgspec import Struct

MARK = "stepward.encrypted"
BEGINNING = b'{"stepward.encrypted":"'
"""The first bytes of every sealed payload, and of nothing else that is stored while encryption is on."""
UNOPENED = b"\xffunopened "
"""The first bytes of a sealed payload that this process could not open; no JSON begins so."""
REASON_ENDS = b"\n"
SHOWN_KEY = "encrypted_with_key"
"""The field by which operators see that a value is encrypted."""

PLAIN_ALERTS = frozenset(
    {
        "unserved",
        "non_deterministic",
        "queue_refused",
        "queue_unserved",
        "foreign_store",
        "old_wire",
        "unproven_message",
        "sink_test",
        "task_late",
        "queue_old",
        "lease_late",
        "disk_low",
        "standby_behind",
        "key_missing",
        "schedule_late",
        "webhook_disabled",
    }
)
"""Kinds of alerts that quote no payload; an open one is found by its details."""


class PayloadCodec(Protocol):
    """Seals payloads for one place in one application, and opens them there and nowhere else.

    ``owner`` is the uid of the task, or another name that the payload belongs to; ``place`` says what of it this is.
    """

    @property
    def current(self) -> str | None:
        """The id of the key that seals; None if this process has no key at all and only sees what is encrypted."""
        ...

    async def load(self, keys: Collection[str] = ()) -> None:
        """Take note of the ids of keys with which payloads of the store are encrypted, and fetch missing ones.

        Raises StoreUnavailable if a key service gives none.
        """
        ...

    def has_key(self, key: str) -> bool:
        """Whether the key of that id is here."""
        ...

    def seal(self, data: bytes, owner: str, place: str, shown: bytes = b"") -> bytes:
        """The sealed payload; ``shown`` is a part of a JSON object, with a comma before it, that stays readable.

        One that could not be opened is returned as it was stored. Raises Refused without a key.
        """
        ...

    def open(self, data: bytes, owner: str, place: str) -> bytes:
        """The payload. Bytes that are not sealed are returned as they are; what cannot be opened begins with
        ``UNOPENED``."""
        ...


class Envelope(Struct, rename={"key": MARK}):
    """A sealed payload."""

    key: str
    data: bytes
    """Nonce and ciphertext; base64 in JSON."""


_envelopes = msgspec.json.Decoder(Envelope)


def is_sealed(data: bytes) -> bool:
    """Whether the bytes are a sealed payload."""
    return data.startswith(BEGINNING)


def envelope(data: bytes) -> Envelope | None:
    """The parts of a sealed payload; None for anything else."""
    try:
        return _envelopes.decode(data) if is_sealed(data) else None
    except msgspec.MsgspecError:
        return None


def unopened(data: bytes, reason: str) -> bytes:
    """A sealed payload that could not be opened, with the reason in one line."""
    return UNOPENED + reason.encode() + REASON_ENDS + data


def as_stored(data: bytes) -> bytes | None:
    """The sealed payload within one that could not be opened; None for anything else."""
    return data.partition(REASON_ENDS)[2] if data.startswith(UNOPENED) else None


def why_unopened(data: bytes) -> str | None:
    """The reason why a payload could not be opened; None for one that was, and for what was never sealed."""
    if not data.startswith(UNOPENED):
        return None
    return data[len(UNOPENED) :].partition(REASON_ENDS)[0].decode(errors="replace")


def shown_of(data: bytes) -> dict[str, Any] | None:
    """What operators see of a sealed payload: its key's id, the fields that stay readable, and why it was not opened.

    None for anything else.
    """
    stored = as_stored(data)
    found = envelope(stored if stored is not None else data)
    if found is None:
        return None
    fields = msgspec.json.decode(stored if stored is not None else data)
    shown = {name: value for name, value in fields.items() if name not in (MARK, "data")}
    reason = why_unopened(data)
    return {SHOWN_KEY: found.key, **shown, **({} if reason is None else {"reason": reason})}
