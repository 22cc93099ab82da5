"""Copies of status events for observers at RabbitMQ: an exchange, as a queue gives each message to one consumer."""

from __future__ import annotations

from aio_pika import ExchangeType, Message
from aio_pika.abc import AbstractChannel, AbstractExchange, AbstractQueue, FieldValue

from stepward.transport.rabbitmq.application.declarations import ANSWER_SECONDS, Declarations
from stepward.transport.rabbitmq.channels import open_channel
from stepward.transport.rabbitmq.connection import RabbitChannels

MOST_COPIES = 10_000
"""Most copies that wait for an observer; older ones are dropped."""


class EventCopies:
    """Publishes copies over the current connection."""

    def __init__(self, declarations: Declarations) -> None:
        self._declarations = declarations
        self._exchange: AbstractExchange | None = None

    async def publish(self, queue: str, body: bytes, line: RabbitChannels) -> None:
        """Publish a copy of an event of that queue; without observers it is dropped."""
        exchange = await self._exchange_over(line)
        await exchange.publish(Message(body), queue, mandatory=False)

    def reconnected(self) -> None:
        """There is a new connection: the exchange's channel is gone."""
        self._exchange = None

    async def _exchange_over(self, line: RabbitChannels) -> AbstractExchange:
        """The exchange, declared with the first event: a login that sends no events needs no right to it."""
        if self._exchange is None:
            channel = await open_channel(line.connection)
            self._exchange = await _declare_exchange(self._declarations, channel)
        return self._exchange


async def declare_copy(declarations: Declarations, queue: str, channel: AbstractChannel) -> AbstractQueue:
    """A queue of one's own that receives a copy of each event from now on, and is deleted with its consumer."""
    arguments: dict[str, FieldValue] = {"x-max-length": MOST_COPIES}
    own = await channel.declare_queue(exclusive=True, auto_delete=True, arguments=arguments, timeout=ANSWER_SECONDS)
    await own.bind(await _declare_exchange(declarations, channel), queue, timeout=ANSWER_SECONDS)
    return own


async def _declare_exchange(declarations: Declarations, channel: AbstractChannel) -> AbstractExchange:
    return await channel.declare_exchange(
        f"{declarations.root}.watched", ExchangeType.DIRECT, durable=True, timeout=ANSWER_SECONDS
    )
