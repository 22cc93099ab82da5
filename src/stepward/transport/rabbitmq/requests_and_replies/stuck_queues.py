"""Queues that take nothing while their server answers: they are recognised by timeouts, and deleted."""

from __future__ import annotations

import asyncio

from stepward.transport.rabbitmq.channels import ANSWER_SECONDS, own_channel
from stepward.transport.rabbitmq.connection import RabbitChannels

STUCK_SECONDS = 20.0
"""Seconds, longer than a cluster takes to elect a queue's leader."""
DELETE_SECONDS = 10.0


class QueueSilences:
    """For each queue, since when it has confirmed nothing of what was published to it."""

    def __init__(self) -> None:
        self._timeouts: dict[str, tuple[float, float]] = {}
        """The first and the last timeout since the queue's last confirmation, by the loop's time."""

    def is_stuck(self, queue: str) -> bool:
        """Counts a timeout; True once timeouts have followed one another for ``STUCK_SECONDS``."""
        now = asyncio.get_running_loop().time()
        first, last = self._timeouts.get(queue, (now, now))
        if now - last > STUCK_SECONDS:
            first = now
        self._timeouts[queue] = first, now
        return now - first >= STUCK_SECONDS

    def end(self, queue: str) -> None:
        """The queue has confirmed a message, or is deleted."""
        self._timeouts.pop(queue, None)


async def delete_stuck(line: RabbitChannels, name: str) -> None:
    """Deletes a queue whose server answers; one that takes no messages at all may keep the queue."""
    async with own_channel(line.connection) as channel:
        await channel.declare_queue(name, passive=True, timeout=ANSWER_SECONDS)
        await channel.queue_delete(name, timeout=DELETE_SECONDS)
