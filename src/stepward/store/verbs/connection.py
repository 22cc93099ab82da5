"""The port of verbs to an engine: a connection that runs named queries, and transactions to run verbs in.

A verb is a coroutine that awaits nothing but its connection. PostgreSQL awaits its server; SQLite, whose statements
return at once, runs a verb to its end in one step. Each engine has a query with the same name and the same parameters
in its ``.sql`` files.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

VerbRow = Any
"""A row of the engine, read by column position."""


class VerbConnection(ABC):
    """A connection within a transaction. A list among the values is an array of the statement."""

    def __init__(self, queries: Mapping[str, str]) -> None:
        self._queries = queries
        self.held: str | None = None
        """What ``shards`` returns, where an engine knows it from the beginning of a transaction on."""

    def query(self, name: str) -> str:
        """The text of a query, for composed statements."""
        return self._queries[name]

    async def rows(self, query: str, *values: Any) -> list[VerbRow]:
        """All rows of a query."""
        return await self.fetched(self._queries[query], *values)

    async def rows_of_each(self, query: str, many: Sequence[Sequence[Any]]) -> list[VerbRow]:
        """All rows of a query over an array of rows of values; none if ``many`` is empty."""
        return await self.rows(query, *self._arrays(many)) if many else []

    async def row(self, query: str, *values: Any) -> VerbRow | None:
        """The first row of a query; None if there is none."""
        found = await self.rows(query, *values)
        return found[0] if found else None

    @abstractmethod
    async def fetched(self, sql: str, *values: Any) -> list[VerbRow]:
        """All rows of a statement."""

    @abstractmethod
    def pages(self, query: str, size: int, *values: Any) -> AsyncIterator[list[VerbRow]]:
        """The rows of a query as they were when it began, ``size`` at a time; other statements may run between two."""

    @abstractmethod
    def opened(self, query: str, rows: list[VerbRow]) -> list[VerbRow]:
        """Rows of a statement that was composed, with payloads opened as those of that query are."""

    @abstractmethod
    def _arrays(self, many: Sequence[Sequence[Any]]) -> Sequence[Any]:
        """The parameters that give a query many rows of values at once."""

    @abstractmethod
    async def change(self, query: str, *values: Any) -> int:
        """Runs a changing query; returns how many rows it changed."""

    @abstractmethod
    async def change_each(self, query: str, many: Sequence[Sequence[Any]], *values: Any) -> int:
        """Runs a changing query for each of many rows of values, followed by ``values``; returns how many rows it
        changed."""

    @abstractmethod
    async def applied(self, query: str, many: Sequence[Sequence[Any]], *values: Any) -> list[int]:
        """As ``change_each``; returns the positions in ``many``, from 0, of those that changed a row."""

    @abstractmethod
    async def insert_each(self, query: str, many: Sequence[Sequence[Any]]) -> list[VerbRow]:
        """Runs a changing query for each of many rows of values; returns its rows."""

    @abstractmethod
    def savepoint(self) -> AbstractAsyncContextManager[None]:
        """A savepoint, which is rolled back when an exception leaves the block."""

    @abstractmethod
    async def append_audits(self, acts: Sequence[tuple[Any, ...]]) -> None:
        """Appends acts to the audit, at the latest when the transaction commits."""

    async def shards(self) -> str | None:
        """The shards that the store holds, as in its record; None where the store is no partition.

        They do not change before the transaction ends.
        """
        return self.held

    async def shards_beside(self, inserted: Sequence[VerbRow]) -> str | None:
        """As ``shards``, without a statement where the rows that ``submission.insert`` returned say it."""
        return self.held

    async def follow_commits(self) -> None:  # noqa: B027  an engine may have nothing to do
        """Makes the commit of this transaction wait until all that it has read is as durable as itself."""

    async def lock_chain(self) -> None:  # noqa: B027  likewise
        """Locks the audit for this transaction until its end."""


Verb = Callable[Concatenate[VerbConnection, P], Awaitable[T]]
"""A coroutine that awaits only the connection, its first argument."""


class VerbTransactions(Protocol):
    """Runs verbs; a verb may be run again from its beginning."""

    async def read(self, work: Verb[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs a verb that reads with one statement."""
        ...

    async def read_more(self, work: Verb[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs a verb that reads with several statements; only SQLite shows them one snapshot."""
        ...

    async def read_beside(self, work: Verb[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """As ``read_more``, for a verb that may take long: it does not delay the Scheduler's turns in this process."""
        ...

    async def single(self, work: Verb[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs a verb that writes with one statement, which commits by itself."""
        ...

    async def batch(self, work: Verb[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs a verb that changes many rows with one statement, all of them or none."""
        ...

    async def write(self, work: Verb[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs a verb in one transaction that commits when it returns."""
        ...


class VerbClock(Protocol):
    """The clock of the store; for a server's clock, verbs report the times in its answers."""

    def now(self) -> float:
        """Seconds of the store's clock."""
        ...

    def jumped(self) -> float:
        """The seconds by which the clock was set since the store was opened."""
        return 0.0

    def read(self) -> float:
        """The local instant of a query, for ``heard``."""
        return 0.0

    def heard(self, server: float, sent: float) -> None:
        """Takes the server's time from the answer to a query that was sent at the instant ``sent``."""
        return None


async def rows(connection: VerbConnection, query: str, *values: Any) -> list[VerbRow]:
    """A verb of one query: its rows."""
    return await connection.rows(query, *values)


async def row(connection: VerbConnection, query: str, *values: Any) -> VerbRow | None:
    """A verb of one query: its first row."""
    return await connection.row(query, *values)


async def change(connection: VerbConnection, query: str, *values: Any) -> int:
    """A verb of one query that changes rows: how many."""
    return await connection.change(query, *values)


async def change_each(connection: VerbConnection, query: str, many: Sequence[Sequence[Any]], *values: Any) -> int:
    """A verb of one query that runs for each of many rows of values: how many rows it changed."""
    return await connection.change_each(query, many, *values)
