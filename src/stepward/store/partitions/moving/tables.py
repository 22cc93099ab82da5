"""The tables of a store as the move of a shard reads and writes them: the part that engines have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from stepward.store.contract import Store, Transaction
from stepward.store.partitions.moving.scan import Scan

Rows = list[tuple[Any, ...]]


class MovingTables(ABC):
    """The tables of one open store. Names of tables are SQLite's: what is kept in parts does not depend on the engine.

    A query over many values takes them as one array of JSON.
    """

    def __init__(self, store: Store, queries: Mapping[str, str]) -> None:
        self.store = store
        self._queries = queries
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
            self._columns[table] = await self._listed(transaction, table)
        return self._columns[table]

    @abstractmethod
    async def _listed(self, transaction: Transaction, table: str) -> list[str]:
        """As ``columns``, read from the schema."""

    @abstractmethod
    async def rows(
        self, transaction: Transaction, table: str, column: str, values: Sequence[Any], order: str
    ) -> tuple[list[str], Rows]:
        """The columns and the rows in which that column has one of the values, in order."""

    @abstractmethod
    async def everything(self, transaction: Transaction, table: str, columns: Sequence[str]) -> Rows:
        """Those columns of all rows."""

    @abstractmethod
    async def delete(self, transaction: Transaction, table: str, column: str, values: Sequence[Any]) -> None:
        """Deletes the rows in which that column has one of the values."""

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
    async def put(
        self, transaction: Transaction, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]
    ) -> None:
        """Inserts rows, and replaces these columns of those that are there."""
