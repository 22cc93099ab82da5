"""Messages that are given back to the broker: there was no room for them here, or they must be taken one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Generic

from stepward.errors import TransportError
from stepward.transport.broker.consuming.unacked import Handle, Unacked
from stepward.transport.contract import AgentMessage

PATIENCE = 0.02
"""Seconds for which a received message may wait for room here before it is returned to the broker.

A short wait pays: a Scheduler learns of an attempt's end before the Agent's slot is free.
"""
REST_SECONDS = 1.0
"""Seconds before another try to return a message."""

Put = Callable[[str, Sequence[AgentMessage], bool], Awaitable[None]]
"""Appends messages to a queue; ``again`` marks those that may have been delivered before."""
BackgroundWork = Callable[[], Awaitable[None]]
Spawn = Callable[[BackgroundWork], None]
"""Runs work in the background; a TransportError that it raises is reported."""


class GivingBack(Generic[Handle]):
    """Returns the waiting messages of one queue to its broker, again every second until it takes them."""

    def __init__(
        self,
        queue: str,
        boxes: Unacked[Handle],
        put: Put,
        *,
        now: Callable[[], float],
        rest: BackgroundWork,
        acknowledge: BackgroundWork,
        spawn: Spawn,
        stir: Callable[[], None],
    ) -> None:
        self._queue = queue
        self._boxes = boxes
        self._put = put
        self._now = now
        self._rest = rest
        self._acknowledge = acknowledge
        self._spawn = spawn
        self._stir = stir
        self._patience: asyncio.TimerHandle | None = None
        self._closed = False

    def be_patient(self, seconds: float = PATIENCE) -> None:
        """Return after ``seconds`` the messages that still wait then."""
        if self._patience is None and len(self._boxes) and not self._closed:
            self._patience = asyncio.get_running_loop().call_later(seconds, self._lose_patience)

    def return_apart(self) -> None:
        """Return the messages that wait, each in a broker message of its own."""
        self._spawn(partial(self._give_back, apart=True))

    def close(self) -> None:
        """Return nothing from now on."""
        self._closed = True
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _lose_patience(self) -> None:
        self._patience = None
        if len(self._boxes):
            self._spawn(partial(self._give_back, apart=False))

    async def _give_back(self, *, apart: bool) -> None:
        back = self._boxes.take_back(self._now())
        if not back:
            return
        try:
            if not apart:
                await self._rest()
            for is_returned in (False, True):
                messages = [message for box, _, message in back if box.is_returned is is_returned]
                for together in [[message] for message in messages] if apart else [messages]:
                    await self._put(self._queue, together, is_returned)
        except TransportError:
            self._boxes.keep((box, place) for box, place, _ in back)
            self._stir()
            self.be_patient(REST_SECONDS)
            raise
        for box, place, _ in back:
            self._boxes.settle_place(box, place)
        await self._acknowledge()
