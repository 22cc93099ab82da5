"""The tables of a store in a file: a transaction that writes keeps every other writer waiting."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from stepward.store.contract import Store, Transaction
from stepward.store.named_queries import load_queries
from stepward.store.partitions.moving.scan import ROWS_SCANNED, Scan
from stepward.store.partitions.moving.tables import MovingTables

Q = load_queries(__package__, "moving.sql")


class SqliteTables(MovingTables):
    """Implements ``MovingTables``."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, Q, sign="?")

    def scan(self) -> Scan:
        return SqliteScan(self)

    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        return self.store.client.transaction()

    def alone(self) -> AbstractAsyncContextManager[Transaction]:
        return self.store.client.transaction()

    async def insert(
        self, transaction: Transaction, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]
    ) -> None:
        for row in rows:
            await transaction.execute(self._insertion(table, columns), row)

    async def insert_numbered(
        self, transaction: Transaction, table: str, columns: Sequence[str], row: Sequence[Any]
    ) -> int:
        await self.insert(transaction, table, columns, [row])
        ((number,),) = await self.run(transaction, "last_number")
        return int(number)

    def _named(self, table: str) -> str:
        return table

    def _among(self, column: str) -> str:
        return f"{column} in (select value from json_each(?1))"  # noqa: S608


class SqliteScan(Scan):
    """Goes on behind the last row: within the lock only those follow that came since."""

    def __init__(self, tables: SqliteTables) -> None:
        super().__init__(tables)
        self._last, self._token, self._number = (0, ""), 0, 0

    async def look_ahead(self) -> None:
        more = True
        while more:
            async with self._tables.transaction() as transaction:
                more = await self._look(transaction)

    async def finish(self, transaction: Transaction) -> None:
        while await self._look(transaction):
            pass

    async def _look(self, transaction: Transaction) -> bool:
        """Looks at the next rows; whether there may be more."""
        rowid, uid = self._last
        if rowid and await self._tables.run(transaction, "uid_at", rowid) != [(uid,)]:
            # The last row was deleted, so that its number may have been given again.
            self.forget()
            self._last, self._token, self._number = (0, ""), 0, 0
        tasks = await self._tables.run(transaction, "tasks_after", self._last[0], ROWS_SCANNED)
        for rowid, uid, id in tasks:
            self.found_task(uid, id)
            self._last = (rowid, uid)
        messages = await self._tables.run(transaction, "messages_after", self._token, ROWS_SCANNED)
        self._token = self.found_messages(messages) or self._token
        letters = await self._tables.run(transaction, "letters_after", self._number, ROWS_SCANNED)
        self._number = self.found_letters(letters) or self._number
        return ROWS_SCANNED in (len(tasks), len(messages), len(letters))
