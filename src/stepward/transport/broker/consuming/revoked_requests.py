"""Revoked requests that a process has received: answered as never begun, and settled."""

from __future__ import annotations

from collections import defaultdict
from typing import Generic

from stepward.errors import TransportError
from stepward.events import Observers
from stepward.model.messages.requests import Request
from stepward.transport.broker.consuming.giving_back import BackgroundWork, Put
from stepward.transport.broker.consuming.unacked import Handle, Unacked
from stepward.transport.contract import AgentMessage


class RevokedRequests(Generic[Handle]):
    """Answers the revoked requests of one queue."""

    def __init__(
        self, queue: str, boxes: Unacked[Handle], put: Put, *, acknowledge: BackgroundWork, observers: Observers
    ) -> None:
        self._queue = queue
        self._boxes = boxes
        self._put = put
        self._acknowledge = acknowledge
        self._observers = observers

    async def answer(self) -> None:
        """Answer those that were found; raises TransportError, and they wait again."""
        found, self._boxes.revoked = self._boxes.revoked, []
        answers = defaultdict[str, list[AgentMessage]](list)
        for box, place in found:
            request = box.unsettled.get(place)
            if not isinstance(request, Request):
                continue
            if box.is_returned:
                # Its former consumer may still work on it: it cannot be answered as never begun.
                self._observers.emit(
                    "transport.revoked_in_doubt", queue=self._queue, task=request.task_id, step=request.key
                )
            else:
                answers[request.reply_to].append(request.never_began())
        try:
            for queue, replies in answers.items():
                await self._put(queue, replies, False)
        except TransportError:
            self._boxes.keep(found)
            raise
        for box, place in found:
            self._boxes.settle_place(box, place)
        await self._acknowledge()
