"""Declarations of an application's own queues at RabbitMQ: quorum queues, declared at the first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from aio_pika.abc import AbstractChannel, AbstractIncomingMessage, AbstractQueue, FieldValue

from stepward.transport.broker.queue_names import BrokerNames
from stepward.transport.queues.backend_contract import RESPONSES
from stepward.transport.queues.message_expiry import expiry
from stepward.transport.rabbitmq.connection import RabbitConnection

DAY = 86_400.0
MILLISECONDS = 1000
ANSWER_SECONDS = 5.0
EXPIRES = "stepward-expires"
POSTED: dict[str, FieldValue] = {
    "x-queue-type": "quorum",
    "x-max-length-bytes": 1024**3,
    # A message beyond the limit is refused; accepted ones are never dropped.
    "x-overflow": "reject-publish",
    # Newer servers drop messages that returned a few times; here the consumer counts and decides.
    "x-delivery-limit": 1_000_000,
}
RESPONSE_ARGUMENTS: dict[str, FieldValue] = POSTED | {
    "x-message-ttl": int(7 * DAY * MILLISECONDS),
    "x-expires": int(7 * DAY * MILLISECONDS),
    # A second reader waits for the first to end: two together would have no order.
    "x-single-active-consumer": True,
}


class Declarations:
    """Names the queues of one application and makes them where they are missing; ``now`` is the store's clock."""

    def __init__(self, link: RabbitConnection, names: BrokerNames, now: Callable[[], float]) -> None:
        self.link = link
        self.now = now
        self.root = names.root

    def name(self, queue: str) -> str:
        """The queue's name at the broker."""
        kind, _, name = queue.split(".", 2)
        return f"{self.root}.{'responses' if kind == 'replies' else kind}.{name}"

    async def declare(self, queue: str, channel: AbstractChannel) -> AbstractQueue:
        """Make a queue unless it exists."""
        arguments = RESPONSE_ARGUMENTS if queue.startswith(RESPONSES) else POSTED
        return await channel.declare_queue(self.name(queue), durable=True, arguments=arguments, timeout=ANSWER_SECONDS)

    def is_expired(self, message: AbstractIncomingMessage) -> bool:
        """Whether the message has expired; expiries written by foreign programs are ignored."""
        text = message.headers.get(EXPIRES)
        try:
            return isinstance(text, str) and float(text) <= self.now()
        except ValueError:
            return False

    def expiry_of(self, message: AbstractIncomingMessage) -> float | None:
        """When the message expires; a TTL at the server counts from now."""
        ttl = message.expiration
        return expiry(message.headers.get(EXPIRES), ttl if isinstance(ttl, int | float) else None, self.now())


async def is_served(channel: AbstractChannel, tag: str | None) -> bool:
    """Whether the broker still sends to that consumer; it cancels the consumers of a deleted queue."""
    if channel.is_closed:
        return False
    consumers: Mapping[str, object] = getattr(await channel.get_underlay_channel(), "consumers", {})
    return tag in consumers
