"""Looking into a store from outside; queries name its tables in braces, as they differ from store to store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import apsw
import asyncpg

from stepward.store.address import is_postgres, sqlite_path

EVERY = 0.1
TABLES = ("task", "step", "message", "alert")

Look = Callable[[str], Awaitable[tuple[Any, ...]]]


@asynccontextmanager
async def looking(address: str, app: str = "bench") -> AsyncIterator[Look]:
    """What gives the one row of a query."""
    names = {table: f"stepward_{app}.{table}" if is_postgres(address) else f"stepward_{table}" for table in TABLES}
    async with _postgres(address) if is_postgres(address) else _sqlite(address) as look:
        yield lambda query: look(query.format(**names))


async def until(address: str, query: str, wanted: int) -> None:
    """Wait until the query's one number is at least ``wanted``."""
    async with looking(address) as look:
        while (await look(query))[0] < wanted:  # noqa: ASYNC110  another process brings it about
            await asyncio.sleep(EVERY)


async def once(address: str, query: str) -> tuple[Any, ...]:
    """The only row of a query."""
    async with looking(address) as look:
        return await look(query)


@asynccontextmanager
async def _postgres(address: str) -> AsyncIterator[Look]:
    connection = await asyncpg.connect(address)

    async def look(query: str) -> tuple[Any, ...]:
        row = await connection.fetchrow(query)
        assert row is not None
        return tuple(row)

    try:
        yield look
    finally:
        await connection.close()


@asynccontextmanager
async def _sqlite(address: str) -> AsyncIterator[Look]:
    connection = apsw.Connection(sqlite_path(address), flags=apsw.SQLITE_OPEN_READONLY)
    connection.set_busy_timeout(1000)

    def first(query: str) -> tuple[Any, ...]:
        row: tuple[Any, ...] = next(connection.execute(query))
        return row

    async def look(query: str) -> tuple[Any, ...]:
        # Beside the event loop, where what is measured runs: counting a million rows takes seconds.
        return await asyncio.to_thread(first, query)

    try:
        yield look
    finally:
        connection.close()
