"""The connection to NATS, to one server after another."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from nats.aio.client import Client, ServerVersion
from nats.errors import Error as NatsError

from stepward.clock import Environment
from stepward.errors import QueueRefused, TransportError
from stepward.events import Observers
from stepward.transport.broker.queue_names import BrokerNames
from stepward.transport.broker.reconnecting import Reconnecting
from stepward.transport.broker.tls import handshake_error
from stepward.transport.nats.abortable_client import AbortableClient
from stepward.transport.nats.address import NatsAddress
from stepward.transport.nats.denied_permissions import DeniedPermissions
from stepward.transport.nats.encrypted_client import EncryptedClient
from stepward.transport.nats.login import inbox_prefix, login_of
from stepward.transport.nats.refusals import advice, refusal

CONNECT_SECONDS = 2
PROBE_SECONDS = 1
PING_SECONDS = 3
"""Unanswered pings after which a server is given up: a half-open connection never answers."""
OLDEST = (2, 12, 7)
"""The first server version with an expiry per message whose logins cannot go around their permissions."""
HEADERS = 1024
"""Bytes of a message reserved for headers."""
FAULTS = (NatsError, OSError, TimeoutError)

OnOpened = Callable[[Client], Awaitable[None]]


def check_version(version: ServerVersion) -> None:
    """Raises TransportError for a server that is too old."""
    found = version.major, version.minor, version.patch
    if found < OLDEST:
        expected = ".".join(map(str, OLDEST))
        raise TransportError(
            f"NATS {'.'.join(map(str, found))}, and expected {expected} or newer: older ones let logins go around "
            "their permissions; update the server"
        )


class NatsConnection:
    """Keeps one connection; ``opened`` is called with each before any other use."""

    def __init__(
        self,
        address: NatsAddress,
        *,
        names: BrokerNames,
        opened: OnOpened,
        environment: Environment,
        observers: Observers,
    ) -> None:
        self.address = address
        self._names = names
        self.limit = 1024 * 1024 - HEADERS
        """Most bytes of a message at the server of the last connection."""
        self._opened = opened
        self._next = 0
        self._erred: Exception | None = None
        self._denied = DeniedPermissions()
        self._reconnecting: Reconnecting[AbortableClient] = Reconnecting(
            self._connect,
            broker="NATS",
            shown=address.shown,
            faults=FAULTS,
            is_closed=lambda client: client.is_closed,
            random=environment.random,
            observers=observers,
        )
        self.open = self._reconnecting.open
        self.client = self._reconnecting.connection

    @contextmanager
    def reaching(self, what: str, *about: str) -> Iterator[None]:
        """Raise QueueRefused for a refusal. ``about`` are parts of the subject, which match a permission error to
        the request."""
        began_at = asyncio.get_running_loop().time()
        try:
            with self._reconnecting.reaching(what):
                yield
        except QueueRefused:
            raise
        except TransportError as error:
            reason = refusal(error.__cause__)
            if reason is None and isinstance(error.__cause__, TimeoutError):
                reason = self._denied.find(began_at, *about) or self._denied.inbox
            if reason is None:
                raise
            raise self.refused(what, reason) from error.__cause__

    def raise_denied(self, what: str, seconds: float, *about: str) -> None:
        """Raise QueueRefused for a permission error of the last ``seconds`` about a subject with all these parts."""
        reason = self._denied.find(asyncio.get_running_loop().time() - seconds, *about) or self._denied.inbox
        if reason is not None:
            raise self.refused(what, reason)

    def refused(self, what: str, reason: str) -> QueueRefused:
        """The error for a refusal of the servers."""
        return QueueRefused(
            f"{what}: expected NATS at {self.address.shown} to do its part, found: {reason}; {advice(reason)}",
            reason=reason,
        )

    async def heed(self, client: Client, what: str, subject: str, since: float) -> None:
        """Raises QueueRefused if the servers refused a subject since then: a message that is published there gets no
        answer.

        A server reports a refusal before it answers the next request.
        """
        with self.reaching(what):
            # The client writes a PING past what it has still to send: only the second one comes behind that.
            await client.flush(CONNECT_SECONDS)
            await client.flush(CONNECT_SECONDS)
        reason = self._denied.find(since, f'"{subject}"')
        if reason is not None:
            raise self.refused(what, reason)

    async def probe(self) -> None:
        """Reconnect if the server answers nothing at all; called after a request without an answer."""
        client = self._reconnecting.now
        if client is not None:
            try:
                await client.flush(PROBE_SECONDS)
            except FAULTS as error:
                self._erred = error
                await _close(client)

    async def close(self) -> None:
        """Flush and close."""
        client = await self._reconnecting.close()
        if client is not None:
            with contextlib.suppress(*FAULTS):
                await client.flush(PROBE_SECONDS)
            await _close(client)

    async def _connect(self) -> AbortableClient:
        for _ in self.address.servers[1:]:
            try:
                return await self._connect_to_next()
            except (*FAULTS, TransportError):
                continue
        return await self._connect_to_next()

    async def _connect_to_next(self) -> AbortableClient:
        server = self.address.servers[self._next % len(self.address.servers)]
        self._next += 1
        login = login_of(self.address)
        client = EncryptedClient() if self.address.speaks_tls else AbortableClient()
        try:
            await self._connect_to(server, client, login)
        except BaseException as error:
            alert: BaseException | None = None
            if isinstance(client, EncryptedClient) and isinstance(error, Exception):
                alert = client.handshake_failure() or error
            await _close(client)
            failed = handshake_error(alert, is_opening=True)
            if failed is not None:
                raise TransportError(failed) from alert
            if isinstance(error, NatsError) and self._erred is not None:
                # The client reports the cause separately, and raises only that no server is left.
                raise self._erred from None
            raise
        self.limit = client.max_payload - HEADERS
        return client

    async def _connect_to(self, server: str, client: AbortableClient, login: Mapping[str, Any]) -> None:
        self._denied.inbox = None
        async with asyncio.timeout(CONNECT_SECONDS):
            await client.connect(
                [server],
                **login,
                name=f"stepward {self._names.app}",
                inbox_prefix=inbox_prefix(self._names.inbox, self.address),
                error_cb=self._err,
                closed_cb=partial(self._closed, client),
                # Some refusals close a client for good: each connection has its own.
                allow_reconnect=False,
                max_reconnect_attempts=1,
                reconnect_time_wait=0,
                connect_timeout=CONNECT_SECONDS,
                ping_interval=PING_SECONDS,
                pending_size=0,
            )
        check_version(client.connected_server_version)
        await self._opened(client)

    async def _err(self, error: Exception) -> None:
        if not self._denied.note(error, inbox_prefix(self._names.inbox, self.address)):
            self._erred = error

    async def _closed(self, client: AbortableClient) -> None:
        await self._reconnecting.lost(client, self._erred)


async def _close(client: AbortableClient) -> None:
    """Close a connection, also one whose server reads nothing any more, and also where this is cancelled."""
    try:
        with contextlib.suppress(*FAULTS):
            async with asyncio.timeout(CONNECT_SECONDS):
                await client.close()
    finally:
        client.abort()
