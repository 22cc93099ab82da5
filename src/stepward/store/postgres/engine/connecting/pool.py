"""A few connections of one purpose: one verb at a time acquires each, and it is made when it is first needed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from stepward.errors import StoreUnavailable
from stepward.store.postgres.engine.connection import Connection
from stepward.store.store_errors import closed

WAIT_SECONDS = 5.0


class Pool:
    """At most ``size`` connections; one that broke is replaced."""

    def __init__(self, connect: Callable[[], Awaitable[Connection]], size: int, place: str) -> None:
        self._connect = connect
        self._place = place
        self._size = size
        self._idle: list[Connection] = []
        self._free = asyncio.Semaphore(size)
        self._in_use: set[Connection] = set()
        self._statements = 0
        self._closed = True
        self.made = 0
        """How many connections were made so far."""

    @property
    def statements(self) -> int:
        """How many statements its connections have executed."""
        return self._statements + sum(connection.statements for connection in (*self._idle, *self._in_use))

    def open(self) -> None:
        """Let verbs acquire connections from now on."""
        self._closed = False

    @asynccontextmanager
    async def acquired(self) -> AsyncIterator[Connection]:
        """A connection for as long as the block runs; one left in a transaction is not used again."""
        await self._wait()
        try:
            connection = await self._ready()
            self._in_use.add(connection)
            try:
                yield connection
            finally:
                self._in_use.discard(connection)
                self._take_back(connection)
        finally:
            self._free.release()

    async def close(self) -> None:
        """Let go of every connection, also of those in use."""
        self._closed = True
        idle, self._idle = self._idle, []
        for connection in self._in_use:
            self._drop(connection)
        for connection in idle:
            self._statements += connection.statements
            await connection.close()

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await self._free.acquire()
        except TimeoutError:
            raise StoreUnavailable(
                f"store {self._place}: expected one of {self._size} connections within {WAIT_SECONDS:g} s, found all "
                "in use; keep transactions short"
            ) from None

    async def _ready(self) -> Connection:
        if self._closed:
            raise closed(self._place)
        while self._idle:
            connection = self._idle.pop()
            if connection.usable:
                return connection
            self._drop(connection)
        self.made += 1
        return await self._connect()

    def _take_back(self, connection: Connection) -> None:
        if connection.usable and not self._closed:
            self._idle.append(connection)
        else:
            self._drop(connection)

    def _drop(self, connection: Connection) -> None:
        self._statements += connection.statements
        connection.statements = 0
        connection.raw.terminate()
