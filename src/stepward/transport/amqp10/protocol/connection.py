"""One connection: opened, closed, and its links; the protocol engine's events go to the link that they concern."""

from __future__ import annotations

import asyncio
import itertools
import ssl
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from proton import Connection, Event, Link, Terminus, symbol

from stepward.transport.amqp10.protocol.faults import AmqpFault, fault
from stepward.transport.amqp10.protocol.links import AmqpEndpoint, Received, ReceivingLink, SendingLink
from stepward.transport.amqp10.protocol.sessions import Sessions, is_rabbitmq, product_of
from stepward.transport.amqp10.protocol.socket_driver import SILENT, Driver, Login

CLOSE_SECONDS = 1.0


class AmqpConnection:
    """One connection; ``on_lost`` is called once with why it has ended."""

    def __init__(self, login: Login, on_lost: Callable[[AmqpFault], None]) -> None:
        self._on_lost = on_lost
        self._names = itertools.count(1)
        self._opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._over = asyncio.Event()
        self._links: set[AmqpEndpoint] = set()
        self._connection = Connection()
        self._driver = Driver(self._connection, login, on_event=self._happened, on_end=self._ended)
        self._sessions = Sessions(self._connection, self._driver)
        self.authorize: Callable[[str], Awaitable[None]] | None = None
        """Called with each address before a link to it is opened."""
        self.touch = self._driver.touch
        self.abort = self._driver.abort
        self.leave = self._sessions.end

    @classmethod
    async def connect(
        cls, host: str, port: int, login: Login, *, tls: ssl.SSLContext | None, on_lost: Callable[[AmqpFault], None]
    ) -> AmqpConnection:
        """A connection that the peer has accepted. Raises AmqpFault or OSError."""
        line = cls(login, on_lost)
        name = host if tls is not None else None
        loop = asyncio.get_running_loop()
        await loop.create_connection(lambda: line._driver, host, port, ssl=tls, server_hostname=name)
        try:
            await asyncio.shield(line._opened)
        except BaseException:
            line.abort()
            raise
        return line

    @property
    def why(self) -> AmqpFault | None:
        """The reason for its end; None while it has not ended."""
        return self._driver.why

    @property
    def product(self) -> str:
        """The name by which the peer introduced itself."""
        return product_of(self._connection)

    @property
    def is_counted(self) -> bool:
        """Whether the broker counts deliveries: RabbitMQ's plugin leaves the count out."""
        return not is_rabbitmq(self._connection)

    @property
    def adds_credit(self) -> bool:
        """Whether credit may be added to credit that is left.

        ActiveMQ 5 counts such credit twice: it would keep back messages for this link beyond its credit.
        """
        return self.product != "ActiveMQ"

    async def sender(self, address: str, *, is_topic: bool = False) -> SendingLink:
        """A link that sends to that address. Raises AmqpFault."""
        await self._authorized(address)
        link = self._session().sender(f"stepward-{next(self._names)}")
        link.source.address = link.target.address = address
        if is_topic:
            link.target.capabilities.put_object(symbol("topic"))
        else:
            link.target.durability = Terminus.DELIVERIES
        ours = SendingLink(self, link)
        await self._attach(link, ours)
        return ours

    async def receiver(
        self,
        address: str,
        on_message: Callable[[Received], None],
        *,
        target: str = "",
        filters: Mapping[str, Any] | None = None,
        is_topic: bool = False,
        is_settled: bool = False,
    ) -> ReceivingLink:
        """A link that receives from that address once it gives credit. Raises AmqpFault.

        ``is_topic`` gets a copy of what is sent there from now on; ``is_settled`` lets the broker forget each message
        as it sends it; ``target`` is the address that answers are sent to.
        """
        await self._authorized(address)
        link = self._session().receiver(f"stepward-{next(self._names)}")
        link.source.address, link.target.address = address, target or address
        if is_topic:
            link.source.capabilities.put_object(symbol("topic"))
        else:
            link.source.durability = Terminus.DELIVERIES
        if filters is not None:
            link.source.filter.put_dict({symbol(name): value for name, value in filters.items()})
        link.snd_settle_mode = Link.SND_SETTLED if is_settled else Link.SND_UNSETTLED
        ours = ReceivingLink(self, link, on_message)
        await self._attach(link, ours)
        return ours

    async def close(self) -> None:
        """Close in good order, as far as the peer answers."""
        if self.why is None:
            self._connection.close()
            self.touch()
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await self._over.wait()
        self.abort()

    async def _authorized(self, address: str) -> None:
        if self.authorize is not None:
            await self.authorize(address)

    def _session(self) -> Any:
        if self.why is not None:
            raise AmqpFault(str(self.why))
        return self._sessions.begin()

    async def _attach(self, link: Any, ours: AmqpEndpoint) -> None:
        link.ours = ours
        self._links.add(ours)
        link.open()
        self.touch()
        try:
            await ours.opened()
        except BaseException:
            if ours.why is None:
                ours.close()
            self._links.discard(ours)
            raise

    def _happened(self, event: Event) -> None:
        handler = HANDLERS.get(event.type)
        if handler is not None:
            handler(self, event)

    def _accepted(self, _: Event) -> None:
        if not self._opened.done():
            self._opened.set_result(None)

    def _closed(self, _: Event) -> None:
        self._driver.close(fault(self._connection.remote_condition, SILENT))

    def _failed(self, _: Event) -> None:
        self._driver.fail()

    def _attached(self, event: Event) -> None:
        _ours(event).attached()

    def _delivered(self, event: Event) -> None:
        ours = _ours(event)
        if isinstance(ours, ReceivingLink):
            ours.came(event.delivery)
        elif isinstance(ours, SendingLink):
            ours.confirmed(event.delivery)

    def _detached(self, event: Event) -> None:
        ours = _ours(event)
        ours.ended(event.link.remote_condition)
        self._links.discard(ours)
        event.link.close()

    def _session_ended(self, event: Event) -> None:
        for ours in [each for each in self._links if each.session == event.session]:
            ours.ended(event.session.remote_condition)
            self._links.discard(ours)
        self._sessions.answer_end(event.session)

    def _ended(self, why: AmqpFault) -> None:
        for ours in tuple(self._links):
            ours.end(why)
        self._links.clear()
        self._over.set()
        if not self._opened.done():
            self._opened.set_exception(why)
            self._opened.exception()  # The opening task may have given up.
            return
        self._on_lost(why)


def _ours(event: Event) -> AmqpEndpoint:
    found: AmqpEndpoint = event.link.ours
    return found


HANDLERS: Mapping[Any, Callable[[AmqpConnection, Event], None]] = {
    Event.CONNECTION_REMOTE_OPEN: AmqpConnection._accepted,
    Event.CONNECTION_REMOTE_CLOSE: AmqpConnection._closed,
    Event.TRANSPORT_ERROR: AmqpConnection._failed,
    Event.SESSION_REMOTE_CLOSE: AmqpConnection._session_ended,
    Event.LINK_REMOTE_OPEN: AmqpConnection._attached,
    Event.LINK_REMOTE_CLOSE: AmqpConnection._detached,
    Event.LINK_REMOTE_DETACH: AmqpConnection._detached,
    Event.DELIVERY: AmqpConnection._delivered,
}
