"""Received messages that cannot be read, wholly or in part: moved to the dead letters, and then settled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic

from stepward.errors import TransportError
from stepward.events import Observers
from stepward.transport.broker.consuming.giving_back import BackgroundWork
from stepward.transport.broker.consuming.unacked import BrokerMessage, Handle, Unacked
from stepward.transport.broker.dead_letters import BrokerDeadLetter, Bury

SHOWN = 200
"""Most bytes of such a message that its event shows."""


class SpoiltMessages(Generic[Handle]):
    """Moves the unreadable parts of one queue's messages to the dead letters."""

    def __init__(
        self, queue: str, boxes: Unacked[Handle], bury: Bury, *, acknowledge: BackgroundWork, observers: Observers
    ) -> None:
        self._queue = queue
        self._boxes = boxes
        self._bury = bury
        self._acknowledge = acknowledge
        self._observers = observers

    async def bury(self, box: BrokerMessage[Handle], spoilt: Sequence[BrokerDeadLetter]) -> None:
        """Move these parts of a broker message; raises TransportError, and the message is forgotten."""
        for dead_letter in spoilt:
            start = dead_letter.body[:SHOWN].decode(errors="replace")
            self._observers.emit("transport.dead_letter", queue=self._queue, error=dead_letter.reason, start=start)
        try:
            await self._bury(self._queue, spoilt)
        except TransportError:
            # It comes again, and is then moved to the dead letters like a new one.
            self._boxes.forget(box)
            raise
        self._boxes.buried(box)
        await self._acknowledge()
