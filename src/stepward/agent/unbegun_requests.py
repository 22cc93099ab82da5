"""Requests that an Agent instance took and gives back before it has begun: others take them, or it does later.

No transport needs a verb for it: the request is published again, behind those of its priority, and what was taken is
settled after that. Where the publishing fails it returns with its lease.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from stepward.errors import TransportError
from stepward.events import Observers
from stepward.transport.contract import Delivery, Transport

LAST_WAIT = 1.0


class ReturnedRequests:
    """Gives back what was taken from one queue; ``settle`` settles a delivery."""

    def __init__(
        self, transport: Transport, queue: str, *, settle: Callable[[Delivery], None], observers: Observers
    ) -> None:
        self._transport = transport
        self._queue = queue
        self._settle = settle
        self._observers = observers
        self._tasks: set[asyncio.Task[None]] = set()

    def give_back(self, deliveries: Sequence[Delivery]) -> None:
        """Let others have these."""
        if deliveries:
            task = asyncio.get_running_loop().create_task(self._give_back(deliveries), name="agent-returning")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def finished(self) -> None:
        """Wait until nothing is on its way, a second at most; what is not back then returns with its lease."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=LAST_WAIT)
            for task in late:
                task.cancel()

    async def _give_back(self, deliveries: Sequence[Delivery]) -> None:
        try:
            await self._transport.publish(self._queue, [delivery.message for delivery in deliveries])
        except TransportError as error:
            self._observers.emit("agent.transport_failed", queue=self._queue, verb="give back", error=str(error))
            return
        for delivery in deliveries:
            self._settle(delivery)
