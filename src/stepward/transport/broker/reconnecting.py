"""A connection to a broker that is made again, with backoff, whenever it is lost."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Generic, TypeVar

from stepward.errors import QueueRefused, TransportError
from stepward.events import Observers
from stepward.runtime.cancelling import heed_cancellation, is_cancelled
from stepward.transport.broker.tls import handshake_error

GRACE_SECONDS = 1.0
"""Seconds after a loss for which verbs wait for the next connection before they fail."""
BACKOFF, LONGEST_BACKOFF = 0.05, 5.0
DOUBLINGS = 10
SOON_SECONDS = 5.0
"""A connection that ends sooner counts as a failure: a server may accept each one, and end it at its first use."""
SHOWN = 300
BARE = (Exception, RuntimeError)
"""Base classes that client libraries raise directly for a lost connection."""

Connection = TypeVar("Connection")
ConnectionFaults = tuple[type[Exception], ...]


class Reconnecting(Generic[Connection]):
    """Keeps one connection; ``connect`` makes it, or raises one of ``faults`` or TransportError.

    The connecting code calls ``lost`` when the connection ends. ``is_closed`` detects a connection that ended before it
    was stored, or whose client failed during its close and reported no end.
    """

    def __init__(
        self,
        connect: Callable[[], Awaitable[Connection]],
        *,
        broker: str,
        shown: str,
        faults: ConnectionFaults,
        is_closed: Callable[[Connection], bool],
        random: Random,
        observers: Observers,
    ) -> None:
        self._connect = connect
        self._what = f"{broker} at {shown}"
        self._faults = faults
        self._is_closed = is_closed
        self._random = random
        self._observers = observers
        self._connection: Connection | None = None
        self._why: Exception | None = None
        self._changed = asyncio.Condition()
        self._grace_until = 0.0
        self._keeper: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Connect for the first time. Raises TransportError."""
        if not await self._try():
            raise self._unreached()
        self._keeper = asyncio.get_running_loop().create_task(self._keep(), name="broker-connection")

    async def connection(self) -> Connection:
        """The connection. Raises TransportError if there is none within ``GRACE_SECONDS`` of its loss."""
        if self._connection is not None and self._is_closed(self._connection):
            await self._mourn(self._connection)
        if self._connection is None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(self._grace_until), self._changed:
                    await self._changed.wait_for(lambda: self._connection is not None)
        if self._connection is None:
            raise self._unreached()
        return self._connection

    @property
    def now(self) -> Connection | None:
        """The connection, if there is one."""
        return self._connection

    async def lost(self, connection: Connection, why: Exception | None) -> None:
        """Connect again, if ``connection`` is the present one: it has ended."""
        if self._connection is connection:
            self._why = why
            self._grace_until = asyncio.get_running_loop().time() + GRACE_SECONDS
            self._observers.emit("transport.lost", broker=self._what, error=failure_text(why))
            await self._change(None)

    async def close(self) -> Connection | None:
        """Make no further connections; the caller closes the present one."""
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.wait([self._keeper])
        connection, self._connection = self._connection, None
        return connection

    @contextmanager
    def reaching(self, what: str) -> Iterator[None]:
        """Emit one line about ``what`` with the client's error."""
        try:
            yield
        except asyncio.CancelledError as error:
            if is_cancelled():
                raise
            raise self._unanswered(what, None) from error
        except Exception as error:
            if not self._is_fault(error):
                raise
            raise self._unanswered(what, error) from error

    async def _mourn(self, connection: Connection) -> None:
        """Close the client of a connection that has ended, and ignore its errors."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE_SECONDS), self._changed:
                await self._changed.wait_for(lambda: self._connection is not connection)
        await self.lost(connection, None)

    async def _keep(self) -> None:
        clock, ended_soon = asyncio.get_running_loop().time, 0
        while True:
            made_at = clock()
            async with self._changed:
                await self._changed.wait_for(lambda: self._connection is None)
            ended_soon = min(ended_soon + 1, DOUBLINGS) if clock() - made_at < SOON_SECONDS else 0
            if ended_soon > 1:
                await self._back_off(ended_soon - 2)
            failures = 0
            while not await self._try_again():
                await self._back_off(failures)
                failures = min(failures + 1, DOUBLINGS)
            self._observers.emit("transport.connected", broker=self._what)

    async def _back_off(self, failures: int) -> None:
        delay = min(LONGEST_BACKOFF, BACKOFF * 2**failures)
        await asyncio.sleep(delay * (0.5 + self._random.random() / 2))

    async def _try_again(self) -> bool:
        try:
            return await self._try()
        except Exception as error:
            # No other task connects again, so an unforeseen error must not end this one.
            if type(error) is not type(self._why):
                self._observers.emit("transport.broke", broker=self._what, error=repr(error))
            self._why = error
            return False

    async def _try(self) -> bool:
        is_made = await self._make()
        # After a swallowed cancellation this task would go on while ``close`` waits for it; it closes what was made.
        heed_cancellation()
        return is_made

    async def _make(self) -> bool:
        try:
            connection = await self._connect()
        except asyncio.CancelledError:
            if is_cancelled():
                raise
            self._why = None
            return False
        except Exception as error:
            if not isinstance(error, TransportError) and not self._is_fault(error):
                raise
            self._why = error
            return False
        if self._is_closed(connection):
            # ``lost`` was called before the connection was stored, and is not called again.
            self._why = None
            return False
        await self._change(connection)
        return True

    async def _change(self, connection: Connection | None) -> None:
        self._connection = connection
        async with self._changed:
            self._changed.notify_all()

    def _is_fault(self, error: Exception) -> bool:
        return isinstance(error, self._faults) or type(error) in BARE

    def _unanswered(self, what: str, error: Exception | None) -> TransportError:
        return TransportError(
            f"{what}: expected {self._what} to do its part, found: {failure_text(error)}; look at the servers"
        )

    def _unreached(self) -> TransportError:
        if isinstance(self._why, QueueRefused):
            return QueueRefused(str(self._why), reason=self._why.reason)
        return TransportError(
            f"transport: expected {self._what} to answer, found: {failure_text(self._why)}; "
            "start it, or look at host, port and login"
        )


def failure_text(error: Exception | None) -> str:
    """A client's error, in one line."""
    if (failed := handshake_error(error)) is not None:
        return failed
    if error is None or isinstance(error, TimeoutError) or (type(error) is Exception and not error.args):
        return "no answer"
    if isinstance(error, OSError) and error.errno is not None:
        if isinstance(error, socket.gaierror) or isinstance(error.__cause__, socket.gaierror):
            return str(error.strerror)  # Numbers of the library's own, which are no errno.
        return os.strerror(error.errno)
    return " ".join(str(error).split())[:SHOWN] or type(error).__name__
