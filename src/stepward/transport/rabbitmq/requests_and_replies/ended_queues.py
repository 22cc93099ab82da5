"""Queues of dead instances: their messages are moved, a few queues at a time, and then they are deleted."""

from __future__ import annotations

import asyncio

from aio_pika.abc import AbstractChannel
from aio_pika.exceptions import ChannelNotFoundEntity

from stepward.transport.broker.batching import MessageBatch
from stepward.transport.broker.ended_queues import EndedQueueTurns
from stepward.transport.rabbitmq.channels import ANSWER_SECONDS, own_channel
from stepward.transport.rabbitmq.connection import RabbitConnection
from stepward.transport.rabbitmq.requests_and_replies.publisher import RequestPublisher
from stepward.transport.rabbitmq.requests_and_replies.queue_declarations import UNCLAIMED, QueueDeclarations
from stepward.transport.rabbitmq.requests_and_replies.stuck_queues import DELETE_SECONDS

MOST_ADOPTED = 10_000
"""Most messages of one queue that are moved at once."""
RELEASE_LOOKS = 5
LOOK_SECONDS = 0.1
NEVER = float("inf")


class EndedQueues(EndedQueueTurns):
    """Moves the messages of queues of dead instances to their heirs, and deletes queues without messages."""

    def __init__(self, link: RabbitConnection, queues: QueueDeclarations, publisher: RequestPublisher) -> None:
        super().__init__()
        self._link = link
        self._queues = queues
        self._publisher = publisher

    async def adopt(self, queue: str, heir: str) -> None:
        """Move a queue's messages; those taken by another process return when it dies, and are moved then."""
        line = await self._link.line()
        with self._link.reaching(f"queue {queue}"):
            try:
                async with own_channel(line.connection) as channel:
                    await self._move(queue, heir, channel)
                    await self._delete(queue, channel)
            except ChannelNotFoundEntity:
                return

    async def adopt_unclaimed(self, heir: str) -> None:
        """Move the replies whose Scheduler's queue is gone; the queue itself is kept."""
        line = await self._link.line()
        with self._link.reaching(f"queue {UNCLAIMED}"):
            try:
                async with own_channel(line.connection) as channel:
                    await self._move(UNCLAIMED, heir, channel)
            except ChannelNotFoundEntity:
                return

    async def release(self, queue: str) -> None:
        """Delete a queue unless it holds messages or has a consumer; looks a few times, as a busy server still counts
        messages that were just acknowledged."""
        line = await self._link.line()
        with self._link.reaching(f"queue {queue}"):
            try:
                async with own_channel(line.connection) as channel:
                    for _ in range(RELEASE_LOOKS):
                        if await self._delete(queue, channel):
                            return
                        await asyncio.sleep(LOOK_SECONDS)
            except ChannelNotFoundEntity:
                return

    async def _move(self, queue: str, heir: str, channel: AbstractChannel) -> None:
        left = await channel.declare_queue(self._queues.name(queue), passive=True, timeout=ANSWER_SECONDS)
        for _ in range(MOST_ADOPTED):
            message = await left.get(fail=False, timeout=ANSWER_SECONDS)
            if message is None:
                return
            await self._publisher.append(heir, [MessageBatch(message.body, NEVER)])
            await message.ack()

    async def _delete(self, queue: str, channel: AbstractChannel) -> bool:
        """Whether it was empty and without a consumer, and is gone."""
        # Quorum queues do not support deletion "if empty" or "if unused".
        name = self._queues.name(queue)
        found = (await channel.declare_queue(name, passive=True, timeout=ANSWER_SECONDS)).declaration_result
        if found.message_count or found.consumer_count:
            return False
        deleted = await channel.queue_delete(name, timeout=DELETE_SECONDS)
        if deleted.message_count:
            await self._queues.broadcast_loss(queue)
        return True
