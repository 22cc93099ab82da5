"""Requests and replies on their way into queues: each is confirmed; a queue that was deleted is made again first."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence

from aio_pika import DeliveryMode, Message
from aio_pika.exceptions import PublishError

from stepward.clock import Environment
from stepward.transport.broker.batching import MessageBatch
from stepward.transport.rabbitmq.channels import ANSWER_SECONDS
from stepward.transport.rabbitmq.connection import RabbitChannels, RabbitConnection
from stepward.transport.rabbitmq.requests_and_replies.queue_declarations import MOST_AGE, QueueDeclarations
from stepward.transport.rabbitmq.requests_and_replies.stuck_queues import QueueSilences, delete_stuck
from stepward.transport.wire.wire_events import BATCH

RETURNED = "stepward-returned"
"""A header: the message may have been delivered before, though it is new in this queue."""


class RequestPublisher:
    """Appends messages to queues; ``now`` is the store's clock."""

    def __init__(
        self, link: RabbitConnection, queues: QueueDeclarations, now: Callable[[], float], environment: Environment
    ) -> None:
        self._link = link
        self._queues = queues
        self._now = now
        self._environment = environment
        self._silences = QueueSilences()

    async def append(self, queue: str, batches: Sequence[MessageBatch]) -> None:
        """Append messages, all at once; each is confirmed."""
        line = await self._link.line()
        with self._link.reaching(f"queue {queue}"):
            await self._queues.ensure_over(line, queue)
            try:
                await self._append(queue, batches, line)
            except PublishError:
                # The queue was deleted.
                await self._queues.renew(queue, line)
                await self._append(queue, batches, line)
                await self._queues.broadcast_loss(queue)
            except TimeoutError:
                await self._replace_if_stuck(queue, line)
                raise
        self._silences.end(queue)

    async def _replace_if_stuck(self, queue: str, line: RabbitChannels) -> None:
        """Delete a queue that takes nothing while its server answers; its requests are sent again.

        RabbitMQ 3.10 may leave a queue without a leader if a server dies while the queue is made.
        """
        if not self._silences.is_stuck(queue):
            return
        await delete_stuck(line, self._queues.name(queue))
        self._silences.end(queue)
        self._queues.forget(queue)
        await self._queues.broadcast_loss(queue)

    async def _append(self, queue: str, batches: Sequence[MessageBatch], line: RabbitChannels) -> None:
        channel = await line.publishing.channel()
        exchange, key = channel.default_exchange, self._queues.name(queue)
        if self._queues.is_of_others(queue):
            exchange, key = await channel.get_exchange(self._queues.exchange, ensure=False), queue
        ended = await asyncio.gather(
            *(exchange.publish(self._message(batch), key, timeout=ANSWER_SECONDS) for batch in batches),
            return_exceptions=True,
        )
        for outcome in ended:
            if isinstance(outcome, BaseException):
                raise outcome

    def _message(self, batch: MessageBatch) -> Message:
        age = batch.expires_at - self._now()
        return Message(
            batch.body,
            content_type=BATCH,
            delivery_mode=DeliveryMode.PERSISTENT,
            expiration=math.ceil(max(age, 0.0)) + 1 if age < MOST_AGE else None,
            message_id=self._environment.new_uid(),
            headers={RETURNED: True} if batch.is_returned else None,
        )
