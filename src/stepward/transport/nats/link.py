"""The connection to NATS, to one server after another."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from functools import partial

from nats.aio.client import Client
from nats.errors import Error as NatsError

from stepward.clock import Environment
from stepward.errors import TransportError
from stepward.events import Observers
from stepward.transport.lasting import Lasting
from stepward.transport.nats.address import NatsAddress

CONNECT_SECONDS = 2
PROBE_SECONDS = 1
PING_SECONDS = 3
"""A server that answers none of two pings is given up: what is half open would be waited for in vain."""
OLDEST = (2, 11)
"""The first that lets each message have an age of its own."""
HEADERS = 1024
"""Bytes of a message that are its headers'."""
FAULTS = (NatsError, OSError, TimeoutError)

Opened = Callable[[Client], Awaitable[None]]


class Link:
    """Keeps one connection; ``opened`` is given each before anybody else has it."""

    def __init__(
        self, address: NatsAddress, *, app: str, opened: Opened, environment: Environment, observers: Observers
    ) -> None:
        self.address = address
        self._app = app
        self.limit = 1024 * 1024 - HEADERS
        """The largest message that the server of the last connection takes."""
        self._opened = opened
        self._next = 0
        self._erred: Exception | None = None
        self._lasting: Lasting[Client] = Lasting(
            self._connect,
            broker="NATS",
            shown=address.shown,
            faults=FAULTS,
            is_closed=lambda client: client.is_closed,
            random=environment.random,
            observers=observers,
        )
        self.open = self._lasting.open
        self.client = self._lasting.connection
        self.reaching = self._lasting.reaching

    async def probe(self) -> None:
        """Something got no answer: give up the connection if nothing does."""
        client = self._lasting.now
        if client is not None:
            try:
                await client.flush(PROBE_SECONDS)
            except FAULTS as error:
                self._erred = error
                await _close(client)

    async def close(self) -> None:
        """Send what is still to be sent, and let go."""
        client = await self._lasting.close()
        if client is not None:
            with contextlib.suppress(*FAULTS):
                await client.flush(PROBE_SECONDS)
            await _close(client)

    async def _connect(self) -> Client:
        for _ in self.address.servers[1:]:
            try:
                return await self._connect_to_next()
            except (*FAULTS, TransportError):
                continue
        return await self._connect_to_next()

    async def _connect_to_next(self) -> Client:
        server = self.address.servers[self._next % len(self.address.servers)]
        self._next += 1
        client = Client()
        try:
            await self._connect_to(server, client)
        except BaseException as error:
            await _close(client)
            if isinstance(error, NatsError) and self._erred is not None:
                # The client tells the cause aside, and raises that no server is left.
                raise self._erred from None
            raise
        self.limit = client.max_payload - HEADERS
        return client

    async def _connect_to(self, server: str, client: Client) -> None:
        async with asyncio.timeout(CONNECT_SECONDS):
            await client.connect(
                [server],
                name=f"stepward {self._app}",
                # So that a user of the server can be kept to one application.
                inbox_prefix=f"_INBOX.{self._app}",
                error_cb=self._err,
                closed_cb=partial(self._closed, client),
                # Once closed a client stays closed, and some refusals close it: each connection has its own.
                allow_reconnect=False,
                max_reconnect_attempts=1,
                reconnect_time_wait=0,
                connect_timeout=CONNECT_SECONDS,
                ping_interval=PING_SECONDS,
                pending_size=0,
            )
        version = client.connected_server_version
        if (version.major, version.minor) < OLDEST:
            raise TransportError(f"NATS {version.major}.{version.minor}, and expected 2.11 or newer")
        await self._opened(client)

    async def _err(self, error: Exception) -> None:
        self._erred = error

    async def _closed(self, client: Client) -> None:
        await self._lasting.lost(client, self._erred)


async def _close(client: Client) -> None:
    """Let go of a connection, also of one whose server takes nothing any more."""
    with contextlib.suppress(*FAULTS):
        async with asyncio.timeout(CONNECT_SECONDS):
            await client.close()
