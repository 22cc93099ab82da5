"""RabbitMQ as a broker of one application."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aio_pika import ExchangeType, Message
from aio_pika.abc import AbstractExchange, AbstractIncomingMessage
from aio_pika.exceptions import ChannelNotFoundEntity

from stepward.clock import Environment
from stepward.events import Observers
from stepward.transport.intake import Intake
from stepward.transport.outgoing import Parcel
from stepward.transport.rabbitmq.link import Line, Link
from stepward.transport.rabbitmq.queues import ANSWER_SECONDS, Queues
from stepward.transport.rabbitmq.source import RabbitSource

LIMIT = 64 * 1024 * 1024
"""Half of what a server takes that nobody has told otherwise."""
MOST_ADOPTED = 10_000
NEVER = float("inf")


class RabbitBroker:
    """See ``Broker``; ``now`` is the store's clock."""

    name = "RabbitMQ"
    limit = LIMIT

    def __init__(
        self, address: str, *, app: str, now: Callable[[], float], environment: Environment, observers: Observers
    ) -> None:
        self._exchange = f"stepward.{app}.told"
        self._link = Link(
            address, name=f"stepward {app}", opened=self._listen, environment=environment, observers=observers
        )
        self._queues = Queues(self._link, app, now, environment)
        self._now = now
        self._sources: dict[str, tuple[RabbitSource, Intake[AbstractIncomingMessage]]] = {}
        self._telling: AbstractExchange | None = None
        self._told: Callable[[bytes], None] | None = None

    async def open(self, told: Callable[[bytes], None]) -> None:
        """Connect, and tell ``told`` what processes tell. Raises TransportError."""
        self._told = told
        await self._link.open()

    async def append(self, queue: str, parcels: Sequence[Parcel]) -> None:
        """See ``Broker.append``."""
        await self._queues.append(queue, parcels)

    def source(self, queue: str, intake: Intake[AbstractIncomingMessage]) -> RabbitSource:
        """See ``Broker.source``."""
        source = RabbitSource(self._link, self._queues, queue, intake, self._now)
        self._sources[queue] = source, intake
        return source

    async def tell(self, body: bytes) -> None:
        """See ``Broker.tell``."""
        await self._link.line()
        with self._link.reaching("revocation"):
            if self._telling is not None:
                await self._telling.publish(Message(body), "", mandatory=False, timeout=ANSWER_SECONDS)

    async def adopt(self, queue: str, heir: str) -> None:
        """See ``Broker.adopt``; what another process has taken returns when that is dead, and is adopted then."""
        if queue in self._sources:
            source, intake = self._sources[queue]
            await source.leave()
            intake.stir()
        line = await self._link.line()
        with self._link.reaching(f"queue {queue}"):
            channel = await line.connection.channel(publisher_confirms=False)
            try:
                left = await channel.declare_queue(self._queues.name(queue), passive=True, timeout=ANSWER_SECONDS)
                for _ in range(MOST_ADOPTED):
                    message = await left.get(fail=False, timeout=ANSWER_SECONDS)
                    if message is None:
                        break
                    await self._queues.append(heir, [Parcel(message.body, NEVER)])
                    await message.ack()
            except ChannelNotFoundEntity:
                return
            finally:
                await channel.close()

    async def close(self) -> None:
        """See ``Broker.close``."""
        for source, _ in self._sources.values():
            await source.leave()
        await self._link.close()

    async def _listen(self, line: Line) -> None:
        exchange = await line.channel.declare_exchange(self._exchange, ExchangeType.FANOUT, durable=True)
        own = await line.channel.declare_queue(exclusive=True, auto_delete=True)
        await own.bind(exchange)
        await own.consume(self._heard, no_ack=True)
        self._telling = exchange

    async def _heard(self, message: AbstractIncomingMessage) -> None:
        if self._told is not None:
            self._told(message.body)
