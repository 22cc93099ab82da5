"""Cursors: opaque texts for a position in a listing."""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode

import msgspec

from stepward.errors import Refused
from stepward.store.search.statements import TaskKey

LONGEST_CURSOR = 400


class _Place(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    newest_first: bool
    created_at: float
    uid: str


def cursor_of(key: TaskKey, *, newest_first: bool) -> str:
    """The cursor after a task of a listing in that order."""
    body = msgspec.json.encode(_Place(newest_first, key.created_at, key.uid))
    return urlsafe_b64encode(body).decode().rstrip("=")


def key_of(cursor: str, *, newest_first: bool) -> TaskKey:
    """The position of a cursor. Raises Refused for a cursor of the other order, or any other text."""
    try:
        if not isinstance(cursor, str) or len(cursor) > LONGEST_CURSOR:
            raise ValueError
        body = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        place = msgspec.json.decode(body, type=_Place)
        place.uid.encode()
        if "\0" in place.uid:
            raise ValueError
    except (ValueError, binascii.Error, msgspec.DecodeError):
        raise Refused("cursor: expected one that a page gave, found another text; begin without one") from None
    if place.newest_first is not newest_first:
        raise Refused("cursor: expected one of a page in the same order, found one of the other; keep the order")
    return TaskKey(place.created_at, place.uid)
