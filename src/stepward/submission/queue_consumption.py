"""Takes messages from a queue until it is drained: the loop that all actors of a submission queue have in common."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence

from stepward.errors import StoreUnusable, TransportError
from stepward.events import Observers
from stepward.transport.queues.contract import AppQueues, Stored

QUEUE_PAUSE = 0.5
"""Seconds before the next try after the queue has failed."""


class QueueConsumption:
    """One consumer of one queue; ``work`` does all that is to be done with the messages, also their settlement."""

    def __init__(
        self,
        queues: AppQueues,
        queue: str,
        *,
        batch: int,
        lease: float,
        work: Callable[[Sequence[Stored]], Awaitable[None]],
        observers: Observers,
    ) -> None:
        self._queues = queues
        self._queue = queue
        self._batch = batch
        self._lease = lease
        self._work = work
        self._observers = observers
        self.is_draining = False
        """Whether it was asked to end."""
        self._idle = asyncio.Event()
        self._idle.set()

    async def run(self) -> None:
        """Take messages until cancelled or drained. Raises StoreUnusable where the queue is in such a store."""
        while not self.is_draining:
            try:
                found = await self._queues.take(self._queue, self._batch, self._lease)
                self._idle.clear()
                await self._work(found)
            except TransportError as error:
                if isinstance(error.__cause__, StoreUnusable):
                    raise error.__cause__ from None
                self._observers.emit("submission.queue_failed", queue=self._queue, error=str(error))
                await asyncio.sleep(QUEUE_PAUSE)
            finally:
                self._idle.set()

    async def drain(self, grace: float) -> None:
        """Take no more messages, and let running work end within ``grace`` seconds."""
        self.is_draining = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await self._idle.wait()
