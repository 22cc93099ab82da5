"""Arguments of submissions that are gathered into one task: JSON of a list in a list, ``[[first, second]]``."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from stepward.payload import PAYLOAD_BYTES

EMPTY_LIST = b"[[]]"
"""The arguments of a workflow with one list, which has no items."""
_DECODER = msgspec.json.Decoder(tuple[list[msgspec.Raw]])


class Collected(NamedTuple):
    """The arguments with one item more."""

    input: bytes
    is_full: bool


def collected(input: bytes, added: bytes, size: int) -> Collected | None:
    """The arguments ``input`` with the items of ``added``; None if they are no lists, or too many or large."""
    try:
        (items,), (more,) = _DECODER.decode(input), _DECODER.decode(added)
    except msgspec.MsgspecError:
        return None
    both = [*items, *more]
    grown = msgspec.json.encode([both])
    if len(both) > size or len(grown) > PAYLOAD_BYTES:
        return None
    return Collected(grown, len(both) == size)
