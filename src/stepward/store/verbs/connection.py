"""What a verb needs of an engine: a connection that runs named queries, and transactions to run verbs in.

A verb is a coroutine that awaits nothing but its connection. PostgreSQL awaits its server; SQLite, whose statements are
done at once, drives a verb to its end in one step. Each engine has a query of the same name and the same parameters in
its ``.sql`` files.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

VerbRow = Any
"""A row as the engine has it, read by place."""


class VerbConnection(ABC):
    """A connection within a transaction, as verbs use it. A list among the values is an array of the statement."""

    def __init__(self, queries: Mapping[str, str]) -> None:
        self._queries = queries

    def query(self, name: str) -> str:
        """The text of a query, for what is composed of it."""
        return self._queries[name]

    async def rows(self, query: str, *values: Any) -> list[VerbRow]:
        """All rows of a query."""
        return await self.fetched(self._queries[query], *values)

    async def rows_of_each(self, query: str, many: Sequence[Sequence[Any]]) -> list[VerbRow]:
        """All rows of a query over an array of rows of values; none where ``many`` is empty."""
        return await self.rows(query, *self._arrays(many)) if many else []

    async def row(self, query: str, *values: Any) -> VerbRow | None:
        """The first row of a query, if any."""
        found = await self.rows(query, *values)
        return found[0] if found else None

    @abstractmethod
    async def fetched(self, sql: str, *values: Any) -> list[VerbRow]:
        """All rows of a statement."""

    @abstractmethod
    def _arrays(self, many: Sequence[Sequence[Any]]) -> Sequence[Any]:
        """The parameters by which a query is given many rows of values at once."""

    @abstractmethod
    async def change(self, query: str, *values: Any) -> int:
        """Run a changing query; how many rows it changed."""

    @abstractmethod
    async def change_each(self, query: str, many: Sequence[Sequence[Any]], *values: Any) -> int:
        """Run a changing query for each of many rows of values, ``values`` behind each; how many rows it changed."""

    @abstractmethod
    async def applied(self, query: str, many: Sequence[Sequence[Any]], *values: Any) -> list[int]:
        """As ``change_each``; the places in ``many``, from 0, of those that changed a row."""

    @abstractmethod
    async def insert_each(self, query: str, many: Sequence[Sequence[Any]]) -> list[VerbRow]:
        """Run a changing query for each of many rows of values; the rows that it returns."""

    @abstractmethod
    def savepoint(self) -> AbstractAsyncContextManager[None]:
        """A part of the open transaction that is rolled back by itself when an exception leaves it."""

    @abstractmethod
    async def append_audits(self, acts: Sequence[tuple[Any, ...]]) -> None:
        """Append acts to the chain of audits, at the latest when the transaction commits."""

    async def follow_commits(self) -> None:  # noqa: B027  an engine may have nothing to do
        """Have the commit of this transaction wait until all that it read is as durable as itself."""

    async def lock_chain(self) -> None:  # noqa: B027  likewise
        """Keep the chain of audits for this transaction alone until its end."""


Verb = Callable[Concatenate[VerbConnection, P], Awaitable[T]]
"""A coroutine that awaits nothing but the connection that it is given first."""


class VerbTransactions(Protocol):
    """How verbs are run; what is run may run again from its beginning."""

    async def read(self, work: Verb[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that reads with one statement."""
        ...

    async def read_more(self, work: Verb[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that reads with several statements; only SQLite shows all of them the same state."""
        ...

    async def read_beside(self, work: Verb[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """As ``read_more``, for work that may take long: it holds up no turn of a Scheduler in this process."""
        ...

    async def single(self, work: Verb[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that writes with one statement, which commits by itself."""
        ...

    async def batch(self, work: Verb[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that changes many rows with one statement, all of them or none."""
        ...

    async def write(self, work: Verb[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb in one transaction that commits when it returns."""
        ...


class VerbClock(Protocol):
    """The clock of the store; where it is a server's, verbs tell it what their answers show."""

    def now(self) -> float:
        """Seconds of the store's clock."""
        ...

    def jumped(self) -> float:
        """By how much it was set since the store was opened."""
        return 0.0

    def read(self) -> float:
        """The instant of a question, for ``heard``."""
        return 0.0

    def heard(self, server: float, sent: float) -> None:
        """An answer to a question of the instant ``sent`` showed the server's clock."""
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


def without_nul(text: str) -> str:
    """A text as every engine takes it: PostgreSQL refuses the character NUL, which a message may quote."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")
