"""Bytes between a socket and the protocol engine of one connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from msgspec import Struct
from proton import SASL, Collector, Connection, Event, Transport, TransportException, symbol

from stepward.transport.amqp10.protocol.faults import AmqpFault, LoginRefused, fault

MOST_FRAME_BYTES = 64 * 1024
SILENT = "the connection has ended"


class Login(Struct, frozen=True):
    """How a connection is opened; without a user it is anonymous, as a token is given afterwards."""

    container: str
    hostname: str
    user: str = ""
    password: str = ""
    external: bool = False
    """The certificate of the TLS connection is the login."""
    idle_seconds: float = 6.0
    """Seconds without a byte of the peer after which the connection is given up."""


class Driver(asyncio.Protocol):
    """Calls ``on_event`` with each event of the engine, and ``on_end`` once with why the connection has ended."""

    def __init__(
        self,
        connection: Connection,
        login: Login,
        *,
        on_event: Callable[[Event], None],
        on_end: Callable[[AmqpFault], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._connection = connection
        self._on_event = on_event
        self._on_end = on_end
        self._collector = Collector()
        self._connection.collect(self._collector)
        self._transport = Transport()
        self._prepare(login)
        self._socket: asyncio.Transport | None = None
        self._is_touched = False
        self._timer: asyncio.TimerHandle | None = None
        self.why: AmqpFault | None = None
        """The reason for its end; None while it has not ended."""

    def touch(self) -> None:
        """Send what the engine has to send, once this turn of the loop is over."""
        if not self._is_touched:
            self._is_touched = True
            self._loop.call_soon(self._work)

    def flush(self) -> None:
        """Send what the engine has to send, now: it would send the begin of another link before the end of this one."""
        if self.why is None:
            self._flush()

    def abort(self, why: AmqpFault | None = None) -> None:
        """End it at once, with its socket: a broker goes on giving messages to one that is open."""
        self.end(why or AmqpFault(SILENT))
        if self._socket is not None:
            self._socket.abort()

    def close(self, why: AmqpFault) -> None:
        """End it, once what the engine has to send is sent."""
        self._connection.close()
        self._flush()
        self.end(why)
        if self._socket is not None:
            self._socket.close()

    def end(self, why: AmqpFault) -> None:
        """It has ended."""
        if self.why is None:
            self.why = why
            if self._timer is not None:
                self._timer.cancel()
            self._on_end(why)

    def fail(self) -> None:
        """The engine found a fault of the connection or the login, and has its last word to send."""
        why = self._refusal() or fault(self._transport.condition, SILENT)
        self.end(why)
        self._flush()
        self.abort(why)

    # ------------------------------------------------------------ asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is connected."""
        self._socket = cast("asyncio.Transport", transport)
        self._connection.open()
        self._work()

    def data_received(self, data: bytes) -> None:
        """Bytes of the peer have arrived."""
        try:
            while data:
                room = self._transport.capacity()
                if room <= 0:
                    break
                self._transport.push(data[:room])
                data = data[room:]
                self._pump()
        except TransportException as error:
            self.abort(AmqpFault(str(error)))
        self._work()

    def connection_lost(self, exc: Exception | None) -> None:
        """The socket is closed."""
        self.end(self._refusal() or AmqpFault(str(exc) if exc is not None else SILENT))

    # ------------------------------------------------------------ the engine's side

    def _prepare(self, login: Login) -> None:
        self._connection.container = login.container
        self._connection.hostname = login.hostname
        self._connection.properties = {symbol("product"): "stepward"}
        if login.user:
            self._connection.user = login.user
            self._connection.password = login.password
        sasl = self._transport.sasl()
        # Whether the bytes are encrypted is settled below the engine, which cannot see it.
        sasl.allow_insecure_mechs = True
        sasl.allowed_mechs("EXTERNAL" if login.external else "PLAIN" if login.user else "ANONYMOUS")
        self._transport.idle_timeout = login.idle_seconds
        self._transport.max_frame_size = MOST_FRAME_BYTES
        self._transport.bind(self._connection)

    def _work(self) -> None:
        self._is_touched = False
        if self.why is None:
            self._pump()
        if self.why is None:
            self._tick()
            self._flush()

    def _pump(self) -> None:
        while (event := self._collector.peek()) is not None:
            self._on_event(event)
            self._collector.pop()

    def _tick(self) -> None:
        now = self._loop.time()
        due = self._transport.tick(now)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if due:
            self._timer = self._loop.call_later(max(due - now, 0.0), self._work)

    def _flush(self) -> None:
        while self._socket is not None and (pending := self._transport.pending()) > 0:
            data = self._transport.peek(pending)
            if not data:
                break
            self._socket.write(data)
            self._transport.pop(len(data))
        if self._transport.pending() < 0:
            self.abort(self._refusal())

    def _refusal(self) -> LoginRefused | None:
        """The refusal of the login, if that is why the connection ends."""
        outcome = self._transport.sasl().outcome
        return None if outcome in (None, SASL.OK) else LoginRefused("the login is refused")
