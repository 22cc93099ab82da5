"""The connection to an AMQP 1.0 broker, to one server after another, and the links over it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager

from stepward.clock import Environment
from stepward.errors import QueueRefused, TransportError
from stepward.events import Observers
from stepward.transport.amqp10.address import AmqpAddress
from stepward.transport.amqp10.node_addresses import MEBIBYTE, Place, Places, places_of
from stepward.transport.amqp10.protocol.connection import AmqpConnection
from stepward.transport.amqp10.protocol.faults import AmqpFault, AmqpRefused, LoginRefused
from stepward.transport.amqp10.protocol.links import Received, ReceivingLink, SendingLink
from stepward.transport.amqp10.protocol.messages import Sent
from stepward.transport.amqp10.protocol.socket_driver import Login
from stepward.transport.amqp10.service_bus.authorization import Authorization
from stepward.transport.amqp10.service_bus.name_owner import SESSION_FILTER
from stepward.transport.amqp10.service_bus.node_addresses import ServiceBusPlaces
from stepward.transport.broker.queue_names import BrokerNames
from stepward.transport.broker.reconnecting import Reconnecting
from stepward.transport.broker.tls import handshake_error

CONNECT_SECONDS = 4.0
OPENED_SECONDS = 10.0
"""Most seconds before a connection is used, in which the application's name is claimed at a broker that may be slow."""
ANSWER_SECONDS = 5.0
FRAMING_BYTES = 4096
"""Most bytes of a message besides its body."""
FAULTS = (AmqpFault, OSError, TimeoutError)
NOT_FOUND = "amqp:not-found"
NO_RIGHT = frozenset({"amqp:unauthorized-access", "amqp:precondition-failed", "amqp:not-allowed"})
"""Conditions of a broker that makes no queue for this login, or has another kind of queue under the name."""


class Amqp10Connection:
    """Keeps one connection; ``opened`` is called with each before any other use."""

    def __init__(
        self,
        address: AmqpAddress,
        names: BrokerNames,
        *,
        label: str,
        opened: Callable[[AmqpConnection], Awaitable[None]],
        environment: Environment,
        observers: Observers,
    ) -> None:
        self._address = address
        self._names = names
        self._label = f"{label} {environment.new_uid()}"
        self._opened = opened
        self._next = 0
        self._places: Places | None = None
        self._senders: dict[str, SendingLink] = {}
        self._opening = asyncio.Lock()
        self._ending: set[asyncio.Task[None]] = set()
        self._reconnecting: Reconnecting[AmqpConnection] = Reconnecting(
            self._connect,
            broker="AMQP 1.0" if address.tokens is None else ServiceBusPlaces.name,
            shown=address.shown,
            faults=FAULTS,
            is_closed=lambda line: line.why is not None,
            random=environment.random,
            observers=observers,
        )
        self.open = self._reconnecting.open
        self.line = self._reconnecting.connection
        self.shown = address.shown
        self.clock = environment.clock
        self.name = "AMQP 1.0" if address.tokens is None else ServiceBusPlaces.name
        self._tokens = None if address.tokens is None else address.tokens(environment.clock)
        self._authorization: Authorization | None = None
        self._largest = 0

    @property
    def places(self) -> Places:
        """Where queues stand; known from the first connection on."""
        if self._places is None:
            raise RuntimeError("expected a connection before the places of queues are asked for, found none yet")
        return self._places

    @property
    def limit(self) -> int:
        """Most bytes of one message, as far as the broker has said."""
        most = MEBIBYTE * 15 if self._places is None else self._places.limit
        return min(most, self._largest - FRAMING_BYTES) if self._largest else most

    @property
    def now(self) -> AmqpConnection | None:
        """The connection, if there is one."""
        return self._reconnecting.now

    @contextmanager
    def reaching(self, what: str) -> Iterator[None]:
        """Raise QueueRefused for a refusal, and TransportError for other failures."""
        try:
            with self._reconnecting.reaching(what):
                yield
        except QueueRefused:
            raise
        except TransportError as error:
            if not isinstance(error.__cause__, AmqpRefused):
                raise
            reason = str(error.__cause__)
            raise QueueRefused(
                f"{what}: expected {self.places.name} at {self.shown} to do its part, found: {reason}; "
                "look at the queue and the permissions there",
                reason=reason,
            ) from error.__cause__

    async def send(self, what: str, place: Place, messages: Sequence[Sent], *, is_topic: bool = False) -> None:
        """Send messages, all at once; each is confirmed. Raises TransportError."""
        line = await self.line()
        with self.reaching(what):
            async with asyncio.timeout(ANSWER_SECONDS):
                link = await self._sender(line, place, is_topic=is_topic)
                ended = await asyncio.gather(*map(link.put, messages), return_exceptions=True)
        with self.reaching(what):
            for outcome in ended:
                if isinstance(outcome, BaseException):
                    raise outcome

    async def receiver(
        self, line: AmqpConnection, place: Place, on_message: Callable[[Received], None], *, is_made: bool = True
    ) -> ReceivingLink:
        """A link that receives from a queue, which is made if it is missing and may be made. Raises AmqpFault."""
        filters = None if place.group is None else {SESSION_FILTER: place.group}
        async with asyncio.timeout(ANSWER_SECONDS):
            if not is_made or place.existing == place.address:
                return await line.receiver(place.existing, on_message, filters=filters)
            try:
                return await line.receiver(place.address, on_message)
            except AmqpRefused as refused:
                if refused.condition not in NO_RIGHT:
                    raise
                return await line.receiver(place.existing, on_message)

    async def close(self) -> None:
        """Close."""
        line = await self._reconnecting.close()
        if self._authorization is not None:
            self._authorization.close()
        if line is not None:
            await line.close()
        for task in tuple(self._ending):
            task.cancel()

    async def _sender(self, line: AmqpConnection, place: Place, *, is_topic: bool) -> SendingLink:
        async with self._opening:
            link = self._senders.get(place.address)
            if link is None or not link.is_open:
                link = self._senders[place.address] = await self._attached(line, place, is_topic=is_topic)
            return link

    async def _attached(self, line: AmqpConnection, place: Place, *, is_topic: bool) -> SendingLink:
        try:
            sender = await line.sender(place.address, is_topic=is_topic)
            self._largest = min(self._largest or sender.largest, sender.largest)
            return sender
        except AmqpRefused as refused:
            if place.existing == place.address or refused.condition not in NO_RIGHT:
                raise
            await self._verify(line, place)
            return await line.sender(place.existing)

    async def _verify(self, line: AmqpConnection, place: Place) -> None:
        """RabbitMQ confirms messages to a queue that is missing, so it is looked up, as far as this login may."""
        try:
            (await line.receiver(place.existing, lambda _: None)).close()
        except AmqpRefused as refused:
            if refused.condition == NOT_FOUND:
                raise

    async def _connect(self) -> AmqpConnection:
        for _ in self._address.servers[1:]:
            with contextlib.suppress(*FAULTS, TransportError):
                return await self._connect_to_next()
        return await self._connect_to_next()

    async def _connect_to_next(self) -> AmqpConnection:
        host, port = self._address.servers[self._next % len(self._address.servers)]
        self._next += 1
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                line = await self._enter(host, port)
        except LoginRefused as error:
            raise TransportError(
                f"{error}; give the USER:PASSWORD of a login that may connect to {self._address.shown}"
            ) from None
        except Exception as error:
            failed = handshake_error(error, is_opening=True) if self._address.tls is not None else None
            if failed is None:
                raise
            raise TransportError(failed) from error
        self._places = self._welcomed(line, host)
        try:
            async with asyncio.timeout(OPENED_SECONDS):
                await self._opened(line)
        except BaseException:
            line.abort()
            raise
        return line

    async def _enter(self, host: str, port: int) -> AmqpConnection:
        address = self._address
        login = Login(
            container=self._label,
            hostname=f"vhost:{address.vhost}" if address.vhost else host,
            user=address.user,
            password=address.password,
            external=address.tls is not None and address.tls.certificate is not None and not address.user,
        )
        tls = None if address.tls is None else address.tls.context()
        return await AmqpConnection.connect(host, port, login, tls=tls, on_lost=self._lost)

    def _welcomed(self, line: AmqpConnection, host: str) -> Places:
        if self._tokens is None:
            return places_of(line.product, self._names)
        if self._authorization is not None:
            self._authorization.close()
        self._authorization = line.authorize = Authorization(line, host, self._tokens, self.clock)
        return ServiceBusPlaces(self._names)

    def _lost(self, why: AmqpFault) -> None:
        line = self._reconnecting.now
        if line is not None and line.why is why:
            task = asyncio.get_running_loop().create_task(self._reconnecting.lost(line, why))
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)
