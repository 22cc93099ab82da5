"""Verbs on SQLite: each is driven to its end in one step, as every statement is done when it returns."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

import msgspec

from stepward.model.plan import Plans
from stepward.model.records import Task
from stepward.store.contract import Submitted
from stepward.store.sqlite.engine.clock import StoreClock
from stepward.store.sqlite.engine.connection import Connection, Row
from stepward.store.sqlite.engine.database import Database
from stepward.store.sqlite.engine.query_catalogue import load_book
from stepward.store.sqlite.hot.submission import submit
from stepward.store.verbs import journal
from stepward.store.verbs.connection import VerbConnection
from stepward.store.verbs.engine import VerbEngine

P = ParamSpec("P")
T = TypeVar("T")


class DrivenConnection:
    """Implements ``VerbConnection``; whoever writes has the whole file alone, so that nothing is locked."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._book = load_book()

    async def rows(self, query: str, *values: Any) -> list[Row]:
        return self._connection.rows(self._book[query], _given(values))

    async def row(self, query: str, *values: Any) -> Row | None:
        return self._connection.row(self._book[query], _given(values))

    async def change(self, query: str, *values: Any) -> int:
        return self._connection.change(self._book[query], _given(values))

    async def change_each(self, query: str, many: Sequence[Sequence[Any]], *values: Any) -> int:
        return self._connection.change_many(self._book[query], [(*each, *values) for each in many]) if many else 0

    async def applied(self, query: str, many: Sequence[Sequence[Any]], *values: Any) -> list[int]:
        sql = self._book[query]
        return [place for place, each in enumerate(many) if self._connection.change(sql, (*each, *values))]

    async def append_audits(self, acts: Sequence[tuple[Any, ...]]) -> None:
        await journal.link(self, acts)

    async def submit(self, tasks: Sequence[Task], plans: Plans) -> list[Submitted]:
        return submit(self._connection, tasks, plans)

    async def lock_chain(self) -> None:
        """Does nothing."""


def _given(values: Sequence[Any]) -> Sequence[Any]:
    """Values as SQLite takes them: an array is one of JSON, for json_each."""
    return [msgspec.json.encode(value).decode() if isinstance(value, list) else value for value in values]


def driven(
    connection: Connection,
    work: Callable[Concatenate[VerbConnection, P], Awaitable[T]],
    /,
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """The result of a verb; raises RuntimeError if it waits for anything but its statements."""
    steps = work(DrivenConnection(connection), *args, **kwargs).__await__()
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

    async def read(
        self, work: Callable[Concatenate[VerbConnection, P], Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return await self._database.read(driven, work, *args, **kwargs)

    async def read_more(
        self, work: Callable[Concatenate[VerbConnection, P], Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return await self._database.snapshot(driven, work, *args, **kwargs)

    async def single(
        self, work: Callable[Concatenate[VerbConnection, P], Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return await self._database.single(driven, work, *args, **kwargs)

    async def write(
        self, work: Callable[Concatenate[VerbConnection, P], Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return await self._database.write(driven, work, *args, **kwargs)


def verb_engine(database: Database, clock: StoreClock) -> VerbEngine:
    """The engine of one store object; processes on a file send each other no word."""
    transactions = DrivenTransactions(database)
    return VerbEngine(leases=transactions, others=transactions, clock=clock, ring=lambda: None)
