"""An outbox in an SQLite file: several relays may carry one row, which still makes one task.

It is opened with Python's own sqlite3, as applications do: two libraries on one file in a process break its locks.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing
from typing import TypeVar

from stepward.errors import StoreUnavailable
from stepward.outbox.entry import OutboxRow
from stepward.outbox.source import OutboxBatch
from stepward.outbox.tables import QUERIES

T = TypeVar("T")

Q = QUERIES["sqlite"]
BUSY_SECONDS = 5.0


class SqliteSource:
    """Implements ``OutboxSource``. The file is closed between two batches."""

    def __init__(self, path: str, app: str, limit: int) -> None:
        self.shown = path
        self._path = path
        self._app = app
        self._limit = limit
        self._thread = ThreadPoolExecutor(1, "stepward-outbox")

    @asynccontextmanager
    async def taken(self, most: int, without: Sequence[int]) -> AsyncIterator[OutboxBatch]:
        batch = OutboxBatch(await self._done(lambda connection: self._read(connection, most, without)))
        yield batch
        if batch.made or batch.aside:
            await self._done(lambda connection: _record(connection, batch))

    async def close(self) -> None:
        self._thread.shutdown(wait=False)

    async def _done(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._do, work)

    def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            with closing(sqlite3.connect(self._path, timeout=BUSY_SECONDS, isolation_level=None)) as connection:
                return work(connection)
        except sqlite3.Error as error:
            raise StoreUnavailable(
                f"outbox {self.shown}: expected to read and write it, found {error}; look at it"
            ) from error

    def _read(self, connection: sqlite3.Connection, most: int, without: Sequence[int]) -> list[OutboxRow]:
        connection.execute(Q["table"])
        connection.execute(Q["index"])
        wanted = (self._app, most, self._limit, json.dumps(list(without)))
        return [OutboxRow(*row) for row in connection.execute(Q["take"], wanted)]


def _record(connection: sqlite3.Connection, batch: OutboxBatch) -> None:
    connection.execute("begin immediate")
    connection.executemany(Q["remove"], [(number,) for number in batch.made])
    connection.executemany(Q["set_aside"], batch.aside)
    connection.execute("commit")
