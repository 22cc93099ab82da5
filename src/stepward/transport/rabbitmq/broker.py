"""RabbitMQ as a broker of one application."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Sequence

from aio_pika import ExchangeType, Message
from aio_pika.abc import AbstractExchange, AbstractIncomingMessage, FieldValue
from aiormq.exceptions import ChannelAccessRefused

from stepward.clock import Environment
from stepward.errors import TransportError
from stepward.events import Observers
from stepward.transport.broker.batching import MessageBatch
from stepward.transport.broker.consuming.consumer import Consumer
from stepward.transport.broker.queue_names import BrokerNames
from stepward.transport.contract import Lost
from stepward.transport.rabbitmq.channels import ANSWER_SECONDS, exchange_is_there, own_channel
from stepward.transport.rabbitmq.connection import RabbitChannels, RabbitConnection
from stepward.transport.rabbitmq.name_owner import claim
from stepward.transport.rabbitmq.requests_and_replies.consumer import RabbitHandle, RabbitSource
from stepward.transport.rabbitmq.requests_and_replies.ended_queues import EndedQueues
from stepward.transport.rabbitmq.requests_and_replies.publisher import RequestPublisher
from stepward.transport.rabbitmq.requests_and_replies.queue_declarations import QueueDeclarations, is_there
from stepward.transport.wire.loss_broadcasts import encode_loss
from stepward.transport.wire.wire_events import SINGLE

OWN: dict[str, FieldValue] = {"x-expires": 3_600_000, "x-max-length": 1_000}
"""Milliseconds for which a broadcast queue outlives a lost connection."""
LIMIT = 15 * 1024 * 1024
"""Most bytes of a message: servers from 4.0 on take 16 MiB by default."""


class RabbitBroker:
    """Implements ``Broker``; ``now`` is the store's clock."""

    name = "RabbitMQ"
    limit = LIMIT

    def __init__(
        self,
        address: str,
        *,
        names: BrokerNames,
        now: Callable[[], float],
        environment: Environment,
        observers: Observers,
    ) -> None:
        self._names = names
        self._exchange = f"{names.root}.told"
        self._environment = environment
        self._tag = ""
        self._was_here = False
        self._link = RabbitConnection(
            address, name=f"stepward {names.app}", opened=self._listen, environment=environment, observers=observers
        )
        self._own = self._new_name()
        """The queue of broadcasts to this process; if it is gone, the broker has lost its data."""
        self._queues = QueueDeclarations(self._link, names, self._broadcast_loss)
        self._publisher = RequestPublisher(self._link, self._queues, now, environment)
        self._adoption = EndedQueues(self._link, self._queues, self._publisher)
        self._now = now
        self._sources: dict[str, tuple[RabbitSource, Consumer[RabbitHandle]]] = {}
        self._broadcasts: AbstractExchange | None = None
        self._on_broadcast: Callable[[bytes], None] | None = None
        self._lost: Lost | None = None

    async def open(
        self, on_broadcast: Callable[[bytes], None], lost: Lost, store: str, first: str | None = None
    ) -> None:
        self._on_broadcast, self._lost = on_broadcast, lost
        await self._link.open()
        await claim(self._link, self._names, store)
        if first is not None:
            await claim(self._link, self._names.whole, first)

    async def prepare(self, queue: str, lease: float) -> None:
        await self._queues.ensure(queue)

    async def append(self, queue: str, batches: Sequence[MessageBatch]) -> None:
        await self._publisher.append(queue, batches)

    def source(self, queue: str, intake: Consumer[RabbitHandle]) -> RabbitSource:
        source = RabbitSource(self._link, self._queues, queue, intake, self._now)
        self._sources[queue] = source, intake
        return source

    async def broadcast(self, body: bytes) -> None:
        await self._link.line()
        with self._link.reaching("revocation"):
            if self._broadcasts is not None:
                await self._broadcasts.publish(
                    Message(body, content_type=SINGLE), "", mandatory=False, timeout=ANSWER_SECONDS
                )

    async def adopt(self, queues: Collection[str], heir: str, live: Collection[str] | None) -> None:
        """Queues outside ``queues`` cannot be listed."""
        for queue in self._adoption.due(queues):
            if queue in self._sources:
                source, intake = self._sources[queue]
                await source.leave()
                await self._adoption.adopt(queue, heir)
                intake.stir()
            else:
                await self._adoption.adopt(queue, heir)
        await self._adoption.adopt_unclaimed(heir)

    async def release(self, queue: str) -> None:
        if queue in self._sources:
            source, _ = self._sources[queue]
            await source.leave()
        await self._adoption.release(queue)

    async def close(self) -> None:
        await self._forget_own()
        await self._link.close()

    async def _listen(self, line: RabbitChannels) -> None:
        is_lost = self._was_here and not await is_there(line, self._own)
        # A cluster reserves the old name for a member that is away, and refuses its declaration meanwhile.
        name = self._new_name() if is_lost else self._own
        await self._make_exchange(line)
        exchange = await line.channel.get_exchange(self._exchange, ensure=False)
        own = await line.channel.declare_queue(name, durable=True, arguments=OWN)
        await own.bind(exchange)
        await self._link.follow(line)
        self._tag = await own.consume(self._received, no_ack=True)
        self._own, self._broadcasts, self._was_here = name, exchange, True
        if is_lost and self._lost is not None:
            self._lost(None)

    async def _make_exchange(self, line: RabbitChannels) -> None:
        if await exchange_is_there(line.connection, self._exchange):
            return
        try:
            async with own_channel(line.connection) as channel:
                await channel.declare_exchange(self._exchange, ExchangeType.FANOUT, durable=True)
        except ChannelAccessRefused:
            raise TransportError(
                f"exchange {self._exchange}: expected it at RabbitMQ, found none, and no right to make it; "
                "start a Scheduler first"
            ) from None

    def _new_name(self) -> str:
        """The name includes the login, so that the broker's permissions keep other logins from it."""
        return ".".join(filter(None, (self._exchange, self._link.user, self._environment.new_uid())))

    async def _forget_own(self) -> None:
        line = self._link.now
        if line is not None and self._was_here:
            with contextlib.suppress(TransportError), self._link.reaching("revocation"):
                own = await line.channel.get_queue(self._own, ensure=False)
                await own.cancel(self._tag, timeout=ANSWER_SECONDS)
                await own.delete(if_unused=False, if_empty=False, timeout=ANSWER_SECONDS)

    async def _broadcast_loss(self, queue: str) -> None:
        with contextlib.suppress(TransportError):
            await self.broadcast(encode_loss(self._names.app, self._environment.new_uid(), queue))

    async def _received(self, message: AbstractIncomingMessage) -> None:
        if self._on_broadcast is not None:
            self._on_broadcast(message.body)
