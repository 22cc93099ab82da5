"""Unsettled messages that the one reader of a response queue has received, in order."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from stepward.transport.queues.contract import QueuedMessage

Handle = TypeVar("Handle")
"""The broker's handle for acknowledging a message."""

MOST_TOGETHER = 1_000
"""Most events in a batch: a larger one is foreign, and becomes one dead letter."""

_array = msgspec.json.Decoder(list[msgspec.Raw])
_anything = msgspec.json.Decoder(msgspec.Raw)


@dataclass(slots=True, eq=False)
class Packet(Generic[Handle]):
    """One broker message; it is acknowledged once all its events are settled."""

    ident: str
    handle: Handle
    left: int


class ResponseLog(Generic[Handle]):
    """Gives every event a token that is never used again; several events may share a broker message."""

    def __init__(self) -> None:
        self._parts: dict[int, tuple[Packet[Handle], bytes]] = {}
        self._packets: dict[str, Packet[Handle]] = {}
        self._token = 0

    def add(self, ident: str, handle: Handle, body: bytes) -> None:
        """Add a message that arrived; a known one came again, under another handle."""
        if ident in self._packets:
            self._packets[ident].handle = handle
            return
        events = unpacked(body)
        packet = self._packets[ident] = Packet(ident, handle, len(events))
        for event in events:
            self._token += 1
            self._parts[self._token] = packet, event

    def follows(self, after: int, limit: int) -> list[QueuedMessage]:
        """The unsettled events after the token ``after``."""
        behind = ((token, body) for token, (_, body) in self._parts.items() if token > after)
        return [QueuedMessage(token, body) for token, body in itertools.islice(behind, limit)]

    def pass_over(self, last: int) -> list[Handle]:
        """Remove the events up to the token ``last``, for an observer, which settles nothing."""
        return self.settle([token for token in self._parts if token <= last])

    def given(self, token: int) -> QueuedMessage | None:
        """An event that is not settled."""
        part = self._parts.get(token)
        return None if part is None else QueuedMessage(token, part[1])

    def settle(self, tokens: Iterable[int]) -> list[Handle]:
        """Settle these; the handles of messages that are settled whole, in the order of the tokens."""
        done: list[Handle] = []
        for token in tokens:
            part = self._parts.pop(token, None)
            if part is not None:
                packet, _ = part
                packet.left -= 1
                if not packet.left:
                    del self._packets[packet.ident]
                    done.append(packet.handle)
        return done

    @property
    def first(self) -> Handle | None:
        """The handle of the first message with an unsettled event."""
        for packet in self._packets.values():
            return packet.handle
        return None

    def clear(self) -> None:
        """Remove everything; it arrives again under other tokens."""
        self._parts.clear()
        self._packets.clear()


def packed(events: Sequence[bytes]) -> bytes:
    """Events as one message: a batch of CloudEvents in JSON."""
    return b"[" + b",".join(events) + b"]"


def unpacked(body: bytes) -> list[bytes]:
    """The events in a message; a body that is no batch is one event."""
    if body.startswith(b"["):
        try:
            events = _array.decode(body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return [body]
        return [bytes(event) for event in events] if 0 < len(events) <= MOST_TOGETHER else [body]
    return [body]


def can_share(body: bytes) -> bool:
    """Whether this can stand in a batch without making the batch unreadable."""
    if not body.startswith(b"{"):
        return False
    try:
        _anything.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return True
