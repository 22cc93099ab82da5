"""A connection that reads in a thread of its own, so that a search holds up nothing on the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import apsw

from stepward.runtime.threads import Threads
from stepward.store.sealing.row_codec import RowCodec
from stepward.store.sqlite.engine.connection import BEGIN_READ, Connection

T = TypeVar("T")

MILLISECONDS = 1000
CACHE_KIB = 16_384


class BesideReader:
    """Runs work that reads, one after the other, beside the loop."""

    def __init__(self, path: str, busy_seconds: float, synchronous: str, codec: RowCodec | None) -> None:
        self._path = path
        self._busy_seconds = busy_seconds
        self._synchronous = synchronous
        self._codec = codec
        self._threads = Threads(1, "stepward_reader")
        self._connection: Connection | None = None
        self._closed = False

    async def run(self, work: Callable[[Connection], T]) -> T:
        """The result of work, all statements of which see the same state."""
        result: T = await asyncio.wrap_future(self._threads.start(lambda: self._viewed(work)))
        return result

    def close(self) -> None:
        """Break off what is at work, and let go of the file."""
        self._closed = True
        self._threads.close()
        if self._connection is not None:
            self._connection.raw.interrupt()
            with suppress(apsw.ThreadingViolationError):  # its thread is in it, and closes it then
                self._connection.close()

    def _viewed(self, work: Callable[[Connection], T]) -> T:
        connection = self._connection or self._connect()
        try:
            connection.begin(BEGIN_READ)
            try:
                return work(connection)
            finally:
                connection.rollback()
        finally:
            if self._closed:
                connection.close()

    def _connect(self) -> Connection:
        connection = Connection(self._path, self._codec)
        connection.tune(self._synchronous)
        connection.raw.set_busy_timeout(int(self._busy_seconds * MILLISECONDS))
        connection.raw.pragma("cache_size", -CACHE_KIB)
        connection.raw.pragma("query_only", True)
        self._connection = connection
        return connection
