"""Verbs on SQLite: each is driven to its end in one step, as every statement is done when it returns."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from stepward.store.named_queries import load_queries
from stepward.store.sqlite.engine.connection import Connection, Row, encoded
from stepward.store.sqlite.engine.database import Database
from stepward.store.sqlite.engine.query_catalogue import load_catalogue
from stepward.store.verbs import alerts_and_audit
from stepward.store.verbs.connection import P, T, Verb, VerbConnection

SHARDS = load_queries(__package__, "shards.sql")


class DrivenConnection(VerbConnection):
    """Verbs' connection to a file; a writer has the whole file alone, so that nothing is locked."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(load_catalogue())
        self._connection = connection

    async def fetched(self, sql: str, *values: Any) -> list[Row]:
        return self._connection.rows(sql, _given(values))

    async def pages(self, query: str, size: int, *values: Any) -> AsyncIterator[list[Row]]:
        found = await self.rows(query, *values)
        for first in range(0, len(found), size):
            yield found[first : first + size]

    def opened(self, query: str, rows: list[Row]) -> list[Row]:
        return rows if self._connection.codec is None else self._connection.codec.opened(query, rows)

    def _arrays(self, many: Sequence[Sequence[Any]]) -> Sequence[Any]:
        return (encoded(many),)

    async def change(self, query: str, *values: Any) -> int:
        return self._connection.change(self._queries[query], _given(values))

    async def change_each(self, query: str, many: Sequence[Sequence[Any]], *values: Any) -> int:
        if not many:
            return 0
        return self._connection.change_many(
            self._queries[query], [(*each, *values) for each in many] if values else many
        )

    async def insert_each(self, query: str, many: Sequence[Sequence[Any]]) -> list[Row]:
        return self._connection.rows_of_many(self._queries[query], many)

    async def applied(self, query: str, many: Sequence[Sequence[Any]], *values: Any) -> list[int]:
        sql = self._queries[query]
        return [place for place, each in enumerate(many) if self._connection.change(sql, (*each, *values))]

    @asynccontextmanager
    async def savepoint(self) -> AsyncIterator[None]:
        with self._connection.savepoint():
            yield

    async def shards(self) -> str | None:
        row = self._connection.row(SHARDS["held"])
        return None if row is None else row[0]

    async def shards_beside(self, inserted: Sequence[Row]) -> str | None:
        return inserted[0][1] if inserted else await self.shards()

    async def append_audits(self, acts: Sequence[tuple[Any, ...]]) -> None:
        codec = self._connection.codec
        await alerts_and_audit.link(self, acts if codec is None else codec.acts(acts))


def _given(values: Sequence[Any]) -> Sequence[Any]:
    """Values as SQLite takes them: an array is one of JSON, for json_each."""
    return [encoded(value) if isinstance(value, list) else value for value in values]


def driven(connection: Connection, work: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """The result of a verb; raises RuntimeError if it waits for anything but its statements."""
    return finished(work(DrivenConnection(connection), *args, **kwargs))


def finished(work: Awaitable[T]) -> T:
    """The result of a coroutine that waits for nothing; raises RuntimeError if it does."""
    steps = work.__await__()
    try:
        next(steps)
    except StopIteration as end:
        result: T = end.value
        return result
    raise RuntimeError("verb on SQLite: expected no wait for anything but its connection, found one; let it not wait")


class DrivenTransactions:
    """Implements ``VerbTransactions`` on a file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(self, work: Verb[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._database.read(driven, work, *args, **kwargs)

    async def read_more(self, work: Verb[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._database.snapshot(driven, work, *args, **kwargs)

    async def read_beside(self, work: Verb[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._database.beside(driven, work, *args, **kwargs)

    async def single(self, work: Verb[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._database.single(driven, work, *args, **kwargs)

    async def batch(self, work: Verb[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._database.write(driven, work, *args, **kwargs)

    async def write(self, work: Verb[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._database.write(driven, work, *args, **kwargs)
