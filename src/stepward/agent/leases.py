"""Keeps the leases on the requests that an Agent instance works on, so that nobody else is given them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from stepward.agent.call import Call
from stepward.agent.slots import Slots
from stepward.errors import TransportError
from stepward.events import Observers
from stepward.transport.contract import Transport

PARTS = 3


class RequestLeases:
    """Extends the leases of all held calls together, each third of a lease, up to the calls' complete-by.

    ``revoked`` is told of those whose request was withdrawn.
    """

    def __init__(
        self,
        transport: Transport,
        queue: str,
        slots: Slots,
        *,
        now: Callable[[], float],
        seconds: float,
        observers: Observers,
        revoked: Callable[[Call], None],
    ) -> None:
        self.seconds = seconds
        self._transport = transport
        self._queue = queue
        self._slots = slots
        self._now = now
        self._observers = observers
        self._revoked = revoked
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def keep(self) -> None:
        """Ensures that what is held stays ours."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self.seconds / PARTS, self._renew)

    def close(self) -> None:
        """Let all leases lapse."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for task in self._tasks:
            task.cancel()

    def extend(self, calls: list[Call]) -> None:
        """Extend the leases of these at once."""
        if calls:
            task = asyncio.get_running_loop().create_task(self._extended(calls))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _renew(self) -> None:
        self._timer = None
        if len(self._slots):
            self.keep()
            self.extend([call for call in self._slots if _runs_out(call)])

    async def _extended(self, calls: list[Call]) -> None:
        until = self._now() + self.seconds
        held = [(call, call.delivery) for call in calls]
        try:
            gone = await self._transport.extend(self._queue, [delivery for _, delivery in held], self.seconds)
        except TransportError as error:
            self._observers.tell("agent.transport_failed", queue=self._queue, verb="extend", error=str(error))
            return
        for call in calls:
            call.leased_until = until
        lost = {delivery.token for delivery in gone}
        for call, delivery in held:
            # Where another delivery took its place, that one was settled and the call is not revoked.
            if delivery.token in lost and call.delivery is delivery:
                self._revoked(call)


def _runs_out(call: Call) -> bool:
    return not call.dropped and call.leased_until < call.request.complete_by
