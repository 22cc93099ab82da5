"""The tables of a store as the move of a shard reads and writes them: the part that engines have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from stepward.store.contract import Store, Transaction
from stepward.store.partitions.moving.rows import chunks
from stepward.store.partitions.moving.scan import Scan

Rows = list[tuple[Any, ...]]


class MovingTables(ABC):
    """The tables of one open store. Names of tables are SQLite's: what is kept in parts does not depend on the engine.

    A query over many values takes them as one array of JSON; ``sign`` begins the engine's numbered parameters.
    """

    def __init__(self, store: Store, queries: Mapping[str, str], *, sign: str) -> None:
        self.store = store
        self._queries = queries
        self._sign = sign
        self._columns: dict[str, list[str]] = {}

    async def run(self, transaction: Transaction, query: str, *values: Any) -> Rows:
        """The rows of a query of the engine's ``.sql`` file."""
        return await transaction.execute(self._queries[query], values)

    def now(self) -> float:
        """The store's clock."""
        return self.store.now()

    @abstractmethod
    def scan(self) -> Scan:
        """A new scan of the store."""

    @abstractmethod
    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        """A transaction that does not wait for a shard that moves."""

    @abstractmethod
    def alone(self) -> AbstractAsyncContextManager[Transaction]:
        """A transaction beside which no other writes what moves, and which has seen all that others have written.

        Raises StoreUnavailable where others did not let go in time.
        """

    async def columns(self, transaction: Transaction, table: str) -> list[str]:
        """The names of a table's columns that move."""
        if table not in self._columns:
            found = await self.run(transaction, "columns", self._named(table))
            self._columns[table] = [name for (name,) in found]
        return self._columns[table]

    async def rows(
        self, transaction: Transaction, table: str, column: str, values: Sequence[Any], order: str
    ) -> tuple[list[str], Rows]:
        """The columns and the rows in which that column has one of the values, in order."""
        columns = await self.columns(transaction, table)
        names = ", ".join(columns)
        sql = f"select {names} from {self._named(table)} where {self._among(column)} order by {order}"  # noqa: S608
        return columns, [row for chunk in chunks(values) for row in await transaction.execute(sql, (chunk,))]

    async def everything(self, transaction: Transaction, table: str, columns: Sequence[str]) -> Rows:
        """Those columns of all rows."""
        return await transaction.execute(f"select {', '.join(columns)} from {self._named(table)}")  # noqa: S608

    async def delete(self, transaction: Transaction, table: str, column: str, values: Sequence[Any]) -> None:
        """Deletes the rows in which that column has one of the values."""
        sql = f"delete from {self._named(table)} where {self._among(column)}"  # noqa: S608
        for chunk in chunks(values):
            await transaction.execute(sql, (chunk,))

    async def put(
        self, transaction: Transaction, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]
    ) -> None:
        """Inserts rows, and replaces these columns of those that are there."""
        key = [name for (name,) in await self.run(transaction, "primary_key", self._named(table))]
        rest = [f"{column} = excluded.{column}" for column in columns if column not in key]
        known = f" on conflict ({', '.join(key)}) do update set {', '.join(rest)}"
        for row in rows:
            await transaction.execute(self._insertion(table, columns) + known, row)

    @abstractmethod
    async def insert(
        self, transaction: Transaction, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]
    ) -> None:
        """Inserts rows, of which there is none yet."""

    @abstractmethod
    async def insert_numbered(
        self, transaction: Transaction, table: str, columns: Sequence[str], row: Sequence[Any]
    ) -> int:
        """Inserts a row; returns the number that the store gives it."""

    @abstractmethod
    def _named(self, table: str) -> str:
        """The table's name in a statement."""

    @abstractmethod
    def _among(self, column: str) -> str:
        """The condition that a column has one of the values of the first parameter."""

    def _insertion(self, table: str, columns: Sequence[str]) -> str:
        places = ", ".join(f"{self._sign}{number}" for number in range(1, len(columns) + 1))
        return f"insert into {self._named(table)} ({', '.join(columns)}) values ({places})"  # noqa: S608
