"""The connection to RabbitMQ, to one server after another, and the channel for broadcasts to this process."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial

import aio_pika
from aio_pika.abc import AbstractChannel, AbstractConnection
from aio_pika.exceptions import AMQPError, AuthenticationError, ChannelInvalidStateError
from msgspec import Struct

from stepward.clock import Environment
from stepward.errors import QueueRefused, TransportError
from stepward.events import Observers
from stepward.transport.broker.reconnecting import Reconnecting
from stepward.transport.broker.tls import handshake_error
from stepward.transport.rabbitmq.address import rabbit_address
from stepward.transport.rabbitmq.channels import Publishing
from stepward.transport.rabbitmq.refusals import refusal

CONNECT_SECONDS = 4.0
CERTIFICATE_ALONE = (
    "the server takes no login by client certificate; enable its plugin rabbitmq_auth_mechanism_ssl and EXTERNAL among "
    "auth_mechanisms, or give USER:PASSWORD"
)
HEARTBEAT_SECONDS = 3
"""RabbitMQ has no leases: messages of a silent process return when its connection is given up, after two of these."""
FAULTS = (AMQPError, ChannelInvalidStateError, OSError, TimeoutError)


class ExplicitlyClosedConnection(aio_pika.Connection):
    """Closed by ``RabbitConnection`` only, never by the garbage collector, which may run in a thread without a loop."""

    def __del__(self) -> None:
        pass


class RabbitChannels(Struct, frozen=True, eq=False):
    """A connection, the channel for broadcasts to this process, and the channel for publishing to queues."""

    connection: AbstractConnection
    channel: AbstractChannel
    publishing: Publishing


class RabbitConnection:
    """Keeps one connection; ``opened`` is called with each before any other use."""

    def __init__(
        self,
        address: str,
        *,
        name: str,
        opened: Callable[[RabbitChannels], Awaitable[None]],
        environment: Environment,
        observers: Observers,
    ) -> None:
        self._address = rabbit_address(address)
        self._next = 0
        self._name = name
        self._opened = opened
        self._leaving: asyncio.Task[None] | None = None
        """Referenced here, as the loop holds tasks weakly."""
        self._reconnecting: Reconnecting[RabbitChannels] = Reconnecting(
            self._connect,
            broker="RabbitMQ",
            shown=self._address.shown,
            faults=FAULTS,
            is_closed=_is_closed,
            random=environment.random,
            observers=observers,
        )
        self.open = self._reconnecting.open
        self.line = self._reconnecting.connection
        self.shown = self._address.shown
        self.user = self._address.user

    @contextmanager
    def reaching(self, what: str) -> Iterator[None]:
        """Raise QueueRefused for a refusal."""
        try:
            with self._reconnecting.reaching(what):
                yield
        except QueueRefused:
            raise
        except TransportError as error:
            reason = refusal(error.__cause__)
            if reason is None:
                raise
            raise QueueRefused(
                f"{what}: expected RabbitMQ at {self.shown} to do its part, found: {reason}; "
                "look at the queue and the permissions there",
                reason=reason,
            ) from error.__cause__

    @property
    def now(self) -> RabbitChannels | None:
        """The connection, if there is one."""
        return self._reconnecting.now

    async def follow(self, line: RabbitChannels) -> None:
        """Give the connection up once the broker cancels a consumer of the broadcast channel."""
        channel = await line.channel.get_underlay_channel()
        channel.on_consumer_cancel_callbacks.add(partial(self._cancelled, line))

    async def close(self) -> None:
        """Close."""
        line = await self._reconnecting.close()
        if line is not None:
            await _close(line.connection)

    async def _connect(self) -> RabbitChannels:
        for _ in self._address.servers[1:]:
            with contextlib.suppress(*FAULTS, TransportError):
                return await self._connect_to_next()
        return await self._connect_to_next()

    async def _connect_to_next(self) -> RabbitChannels:
        server = self._address.servers[self._next % len(self._address.servers)]
        self._next += 1
        with self._entering():
            connection = await self._enter(server)
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                channel = await connection.channel(on_return_raises=True)
                line = RabbitChannels(connection, channel, Publishing(connection))
                connection.close_callbacks.add(partial(self._closed, line))
                line.channel.close_callbacks.add(partial(self._closed, line))
                await self._opened(line)
        except BaseException as error:
            await _close(connection)
            with self._entering():
                raise error
        return line

    async def _enter(self, server: str) -> AbstractConnection:
        tls = self._address.tls
        async with asyncio.timeout(CONNECT_SECONDS):
            return await aio_pika.connect(
                server,
                ssl_context=None if tls is None else tls.context(),
                timeout=CONNECT_SECONDS,
                heartbeat=HEARTBEAT_SECONDS,
                client_properties={"connection_name": self._name},
                connection_class=ExplicitlyClosedConnection,
            )

    @contextmanager
    def _entering(self) -> Iterator[None]:
        """Why a server refuses a connection, in words: the handshake failed, or the login is unknown."""
        try:
            yield
        except AuthenticationError as error:
            raise TransportError(CERTIFICATE_ALONE) from error
        except Exception as error:
            failed = handshake_error(error, is_opening=True) if self._address.tls is not None else None
            if failed is None:
                raise
            raise TransportError(failed) from error

    async def _cancelled(self, line: RabbitChannels, _: object) -> None:
        await self._reconnecting.lost(line, ConnectionError("the queue of broadcasts to this process is gone"))
        # The channel's reader calls this, and closing would wait for the reader.
        self._leaving = asyncio.get_running_loop().create_task(_close(line.connection))

    async def _closed(self, line: RabbitChannels, _: object, error: BaseException | None) -> None:
        await self._reconnecting.lost(line, error if isinstance(error, Exception) else None)
        await _close(line.connection)


def _is_closed(line: RabbitChannels) -> bool:
    """Whether it has ended; for the connection only the client's lower layer knows."""
    transport = line.connection.transport
    return line.channel.is_closed or transport is None or transport.connection.is_closed


async def _close(connection: AbstractConnection) -> None:
    with contextlib.suppress(*FAULTS):
        async with asyncio.timeout(CONNECT_SECONDS):
            await connection.close()
