"""An outbox in a PostgreSQL database: rows are locked until their results are recorded; other relays skip them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager

from stepward.errors import StepwardError
from stepward.outbox.entry import OutboxRow
from stepward.outbox.source import OutboxBatch
from stepward.outbox.tables import QUERIES
from stepward.store.address import PostgresPlace
from stepward.store.postgres.engine.column_arrays import columns_of
from stepward.store.postgres.engine.connecting.connector import Connector
from stepward.store.postgres.engine.connection import Connection
from stepward.store.postgres.engine.error_translation import BROKEN, translated

Q = QUERIES["postgresql"]
SECONDS = 15.0
"""Seconds that the server allows for a statement, and between two: a relay that pauses for longer loses its locks."""


class PostgresSource:
    """Implements ``OutboxSource``."""

    def __init__(self, place: PostgresPlace, app: str, limit: int) -> None:
        self.shown = place.shown
        self._connector = Connector(place, "")
        self._app = app
        self._limit = limit
        self._connection: Connection | None = None

    @asynccontextmanager
    async def taken(self, most: int, without: Sequence[int]) -> AsyncIterator[OutboxBatch]:
        try:
            connection = await self._ready()
            with self._translating():
                await connection.run("begin")
                found = await connection.fetched(Q["take"], self._app, most, self._limit, list(without))
            batch = OutboxBatch([OutboxRow(*row) for row in found])
            yield batch
            with self._translating():
                await _record(connection, batch)
                await connection.run("commit")
        except BaseException:
            # Locks are released once the connection is gone.
            await self.close()
            raise

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.raw.terminate()

    async def _ready(self) -> Connection:
        if self._connection is None or not self._connection.usable:
            self._connection = await self._connector.connect({}, SECONDS)
            with self._translating():
                await _create(self._connection)
        return self._connection

    @contextmanager
    def _translating(self) -> Iterator[None]:
        try:
            yield
        except StepwardError:
            raise
        except BROKEN as error:
            raise translated(error, self.shown) from error


async def _create(connection: Connection) -> None:
    ((there,),) = await connection.fetched(Q["find"])
    if not there:
        await connection.run("begin")
        await connection.fetched(Q["lock"])
        await connection.run(Q["table"])
        await connection.run(Q["index"])
        await connection.run("commit")


async def _record(connection: Connection, batch: OutboxBatch) -> None:
    if batch.made:
        await connection.fetched(Q["remove"], batch.made)
    if batch.aside:
        await connection.fetched(Q["set_aside"], *columns_of(batch.aside))
