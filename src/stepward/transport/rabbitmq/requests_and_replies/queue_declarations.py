"""Declarations of queues of requests and replies: quorum queues, each declared at its first use over a connection."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from aio_pika import ExchangeType
from aio_pika.abc import AbstractChannel, AbstractQueue, FieldValue
from aio_pika.exceptions import ChannelNotFoundEntity
from aiormq.exceptions import ChannelAccessRefused

from stepward.model.messages.requests import reply_queue
from stepward.transport.broker.queue_names import BrokerNames
from stepward.transport.rabbitmq.channels import ANSWER_SECONDS, own_channel
from stepward.transport.rabbitmq.connection import RabbitChannels, RabbitConnection

DAY = 86_400.0
MOST_AGE = 7 * DAY
MILLISECONDS = 1000
REPLIES = reply_queue("")
UNCLAIMED = reply_queue("unclaimed")
"""The queue of replies whose Scheduler's queue is gone."""
ARGUMENTS: dict[str, FieldValue] = {
    "x-queue-type": "quorum",
    "x-message-ttl": int(MOST_AGE * MILLISECONDS),
    "x-expires": int(MOST_AGE * MILLISECONDS),
    # Servers from 3.12 on heed it; older ones take an Agent with a step of half an hour for stuck.
    "x-consumer-timeout": int(MOST_AGE * MILLISECONDS),
    # Servers from 4.0 on drop messages that returned twenty times; here returns do not count against a message.
    "x-delivery-limit": 1_000_000,
    "x-max-length-bytes": 1024**3,
    # A message beyond the limit is refused; accepted ones are never dropped.
    "x-overflow": "reject-publish",
}


class QueueDeclarations:
    """Declares queues, and knows those that this login may not declare."""

    def __init__(
        self, link: RabbitConnection, names: BrokerNames, broadcast_loss: Callable[[str], Awaitable[None]]
    ) -> None:
        self._broadcast_loss = broadcast_loss
        self._root = names.root
        self.exchange = f"{names.root}.queues"
        """Through this exchange a login reaches the queues that its topic permission names, and no others."""
        self._link = link
        self._line: RabbitChannels | None = None
        self._declared: set[str] = set()
        self._others: set[str] = set()
        """Queues that this login may not declare: messages for them go through the exchange."""
        self._has_exchange = False
        self._known: set[str] = set()
        """Queues that were declared over this connection or an earlier one."""

    def name(self, queue: str) -> str:
        """The queue's name at the broker."""
        return f"{self._root}.{queue}"

    async def declare(self, queue: str, channel: AbstractChannel) -> AbstractQueue:
        """Make a queue unless it exists."""
        return await channel.declare_queue(self.name(queue), durable=True, arguments=ARGUMENTS, timeout=ANSWER_SECONDS)

    async def broadcast_loss(self, queue: str) -> None:
        """Broadcast that a queue was deleted; a login without the right to declare it may not broadcast it."""
        if queue not in self._others:
            await self._broadcast_loss(queue)

    async def ensure(self, queue: str) -> None:
        """Make a queue unless this process knows that it exists."""
        line = await self._link.line()
        with self._link.reaching(f"queue {queue}"):
            await self.ensure_over(line, queue)

    async def renew(self, queue: str, line: RabbitChannels) -> None:
        """Make a queue unless it exists, whatever this process knows, or this login may not declare it."""
        self.forget(queue)
        await self.ensure_over(line, queue)

    def forget(self, queue: str) -> None:
        """The queue may be gone: the next use declares it again."""
        self._declared.discard(queue)

    def is_of_others(self, queue: str) -> bool:
        """Whether this login may not declare the queue, and reaches it through the exchange."""
        return queue in self._others

    async def ensure_over(self, line: RabbitChannels, queue: str) -> None:
        """Make a queue unless it was made over this connection."""
        if line is not self._line:
            self._line = line
            self._declared.clear()
            self._others.clear()
            self._has_exchange = False
        if queue not in self._declared and queue not in self._others:
            is_lost = queue in self._known and not await is_there(line, self.name(queue))
            try:
                await self._make(queue, line)
            except ChannelAccessRefused:
                self._others.add(queue)
            else:
                self._declared.add(queue)
                self._known.add(queue)
                if is_lost:
                    await self.broadcast_loss(queue)
        if queue in self._others and not queue.startswith(REPLIES):
            # A reply to an ended Scheduler waits for its successor; a request among those would stay unseen.
            await verify(line, self.name(queue))

    async def _make(self, queue: str, line: RabbitChannels) -> None:
        """Declare a queue and bind it; once more if it or the exchange was deleted in between."""
        try:
            await self._declare_bound(queue, line)
        except ChannelNotFoundEntity:
            self._has_exchange = False
            await self._declare_bound(queue, line)

    async def _declare_bound(self, queue: str, line: RabbitChannels) -> None:
        async with own_channel(line.connection) as channel:
            await self.declare(queue, channel)
            await self._bind(queue, channel)

    async def _bind(self, queue: str, channel: AbstractChannel) -> None:
        """Bind a queue that was just declared to the exchange."""
        if not self._has_exchange:
            await self._declare_exchange(channel)
            self._has_exchange = True
        bound = await channel.get_queue(self.name(queue), ensure=False)
        await bound.bind(self.exchange, routing_key=queue, timeout=ANSWER_SECONDS)

    async def _declare_exchange(self, channel: AbstractChannel) -> None:
        """Move a reply whose queue is gone, because its Scheduler ended, to the queue for successors."""
        unclaimed = await channel.declare_exchange(
            f"{self.exchange}.unclaimed", ExchangeType.FANOUT, durable=True, timeout=ANSWER_SECONDS
        )
        await (await self.declare(UNCLAIMED, channel)).bind(unclaimed, timeout=ANSWER_SECONDS)
        await channel.declare_exchange(
            self.exchange,
            ExchangeType.TOPIC,
            durable=True,
            arguments={"alternate-exchange": unclaimed.name},
            timeout=ANSWER_SECONDS,
        )


async def is_there(line: RabbitChannels, name: str) -> bool:
    """Whether the server has that queue; asked over a channel of its own, which a "no" closes."""
    try:
        await verify(line, name)
    except ChannelNotFoundEntity:
        return False
    return True


async def verify(line: RabbitChannels, name: str) -> None:
    """Raises ChannelNotFoundEntity unless the server has that queue."""
    async with own_channel(line.connection) as channel:
        await channel.declare_queue(name, passive=True, timeout=ANSWER_SECONDS)
