"""One connection to PostgreSQL: named queries of the book, counted; whoever has it has it alone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import asyncpg

from stepward.store.postgres.book import load_book

T = TypeVar("T")
Row = Any
"""The driver's own kind of row: read by place, as SQLite's is."""

MILLISECONDS = 1000
CLOSE_SECONDS = 1.0


class Connection:
    """A connection with the queries of one schema."""

    def __init__(self, raw: asyncpg.Connection[asyncpg.Record], schema: str, bound: float | None) -> None:
        self.raw = raw
        self.schema = schema
        self._book = load_book(schema)
        self.statements = 0
        self._bound = bound
        """The seconds that the server allows a statement and a rest within a transaction; None: not ours to say."""
        self._savepoints = 0

    def query(self, name: str) -> str:
        """The text of a query, for what is built on it."""
        return self._book[name]

    async def rows(self, query: str, *values: Any) -> list[Row]:
        """All rows of a query."""
        return await self.fetched(self._book[query], *values)

    async def row(self, query: str, *values: Any) -> Row | None:
        """The first row of a query, if any."""
        found = await self.rows(query, *values)
        return found[0] if found else None

    async def change(self, query: str, *values: Any) -> int:
        """Run a changing query; how many rows it changed."""
        status = await self._answered(self.raw.execute(self._book[query], *values))
        return int(status.rpartition(" ")[2])

    async def fetched(self, sql: str, *values: Any) -> list[Row]:
        """All rows of a statement that is no query of the book."""
        return list(await self._answered(self.raw.fetch(sql, *values)))

    async def run(self, sql: str, seconds: float | None = None) -> str:
        """Run statements without parameters; what the server says of the last. None: the usual time is waited."""
        return await self._answered(self.raw.execute(sql, timeout=seconds))

    async def bind(self, seconds: float) -> None:
        """Have the server allow no more than these seconds."""
        if self._bound is not None and self._bound > seconds:
            allowed = int(seconds * MILLISECONDS)
            await self.run(f"set statement_timeout = {allowed}; set idle_in_transaction_session_timeout = {allowed}")
            self._bound = seconds

    async def bind_transaction(self, seconds: float) -> None:
        """Have the server allow no more than these seconds until the open transaction ends."""
        allowed = int(seconds * MILLISECONDS)
        await self.run(
            f"set local statement_timeout = {allowed}; set local idle_in_transaction_session_timeout = {allowed}"
        )

    @asynccontextmanager
    async def savepoint(self) -> AsyncIterator[None]:
        """A part of the open transaction that is rolled back by itself when an exception leaves it."""
        name = f"part_{self._savepoints}"
        self._savepoints += 1
        await self.run(f"savepoint {name}")
        try:
            yield
        except BaseException:
            if not self.raw.is_closed():
                await self.run(f"rollback to {name}; release {name}")
            raise
        else:
            await self.run(f"release {name}")
        finally:
            self._savepoints -= 1

    async def close(self) -> None:
        """Take leave of the server, and wait until the socket is closed."""
        try:
            await self.raw.close(timeout=CLOSE_SECONDS)
        except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
            self.raw.terminate()

    async def _answered(self, asked: Awaitable[T]) -> T:
        """The answer; a connection on which none comes in time is not used again."""
        self.statements += 1
        try:
            return await asked
        except TimeoutError:
            self.raw.terminate()
            raise

    @property
    def usable(self) -> bool:
        """Whether the connection stands, with no transaction left open."""
        return not self.raw.is_closed() and not self.raw.is_in_transaction()
