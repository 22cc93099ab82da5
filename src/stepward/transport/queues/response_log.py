"""What the one reader of a response queue was sent and has not settled, in order."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from stepward.transport.queues.contract import QueuedMessage

Handle = TypeVar("Handle")
"""What a broker is told by that a message is dealt with."""

MOST_TOGETHER = 1_000
"""Events in a batch: nobody here sends nearly as many, and what holds more is one dead letter and not a flood."""

_array = msgspec.json.Decoder(list[msgspec.Raw])
_anything = msgspec.json.Decoder(msgspec.Raw)


@dataclass(slots=True, eq=False)
class Packet(Generic[Handle]):
    """One broker message; it is dealt with once everything in it is settled."""

    ident: str
    handle: Handle
    left: int


class ResponseLog(Generic[Handle]):
    """Every event has a token of its own, never used again; several may share a broker message."""

    def __init__(self) -> None:
        self._parts: dict[int, tuple[Packet[Handle], bytes]] = {}
        self._packets: dict[str, Packet[Handle]] = {}
        self._token = 0

    def add(self, ident: str, handle: Handle, body: bytes) -> None:
        """A message came; one that is known came again, under another handle."""
        if ident in self._packets:
            self._packets[ident].handle = handle
            return
        events = unpacked(body)
        packet = self._packets[ident] = Packet(ident, handle, len(events))
        for event in events:
            self._token += 1
            self._parts[self._token] = packet, event

    def follows(self, after: int, limit: int) -> list[QueuedMessage]:
        """What is not settled behind the token ``after``."""
        behind = ((token, body) for token, (_, body) in self._parts.items() if token > after)
        return [QueuedMessage(token, body) for token, body in itertools.islice(behind, limit)]

    def pass_over(self, last: int) -> list[Handle]:
        """Whoever only watches need not keep what it was given up to the token ``last``; see ``settle``."""
        return self.settle([token for token in self._parts if token <= last])

    def given(self, token: int) -> QueuedMessage | None:
        """One that is not settled."""
        part = self._parts.get(token)
        return None if part is None else QueuedMessage(token, part[1])

    def settle(self, tokens: Iterable[int]) -> list[Handle]:
        """These were dealt with; the handles of the messages of which nothing is left, in the order of the tokens."""
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
        """The handle of the first message of which something is left."""
        for packet in self._packets.values():
            return packet.handle
        return None

    def clear(self) -> None:
        """Forget everything; it comes again under other tokens."""
        self._parts.clear()
        self._packets.clear()


def packed(events: Sequence[bytes]) -> bytes:
    """Events as one message: a batch of CloudEvents in JSON."""
    return b"[" + b",".join(events) + b"]"


def unpacked(body: bytes) -> list[bytes]:
    """The events in a message; what is no batch is one by itself."""
    if body.startswith(b"["):
        try:
            events = _array.decode(body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return [body]
        return [bytes(event) for event in events] if 0 < len(events) <= MOST_TOGETHER else [body]
    return [body]


def can_share(body: bytes) -> bool:
    """Whether this may stand in a batch beside others without spoiling it."""
    if not body.startswith(b"{"):
        return False
    try:
        _anything.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return True
