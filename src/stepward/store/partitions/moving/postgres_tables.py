"""The tables of a store in PostgreSQL: a shard leaves while no transaction is within the gate, and none writes a table
of what moves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from random import Random
from typing import Any, cast

import asyncpg

from stepward.errors import StoreUnavailable
from stepward.store.contract import Transaction
from stepward.store.named_queries import load_queries
from stepward.store.partitions.moving import rows as moving_rows
from stepward.store.partitions.moving.scan import ROWS_SCANNED, Scan
from stepward.store.partitions.moving.tables import MovingTables
from stepward.store.postgres.hot.open_transaction import PostgresTransaction
from stepward.store.postgres.store import PostgresStore

LOCKED = (*moving_rows.OF_TASK, *moving_rows.OF_KEY, moving_rows.WITH_ALERT, moving_rows.WITH_MESSAGE)
CHUNK = "array(select json_array_elements_text($1::json))::text[]"
NUMBERS = frozenset({"number", "token"})
CLOSE_MILLISECONDS = 500
"""Within which transactions that have begun must end: those that begin wait as long."""
LOCK_MILLISECONDS = 2_000
"""Within which a table must be free: longer than deadlock_timeout, after which the server ends an automatic vacuum."""
TRIES_SECONDS = 60.0
PAUSE_SECONDS = (0.1, 0.5)
HELD_BY_OTHERS = (
    asyncpg.LockNotAvailableError,
    asyncpg.DeadlockDetectedError,
)


class PostgresTables(MovingTables):
    """Implements ``MovingTables``."""

    def __init__(self, store: PostgresStore, random: Random) -> None:
        self._random = random
        self._schema = store.schema
        self._postgres = store
        fragments = {
            "schema": self._schema,
            "tables": ", ".join(map(self._named, LOCKED)),
            "chunk": CHUNK,
        }
        super().__init__(store, load_queries(__package__, "postgres.sql", fragments), sign="$")

    def scan(self) -> Scan:
        return PostgresScan(self)

    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        return self._postgres.moving()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[Transaction]:
        async with self._postgres.moving() as transaction:
            # Each statement sees what was committed before it: the snapshot of the first is older than the locks.
            await self.run(transaction, "read_committed")
            await self._lock(transaction)
            yield transaction

    async def _lock(self, transaction: Transaction) -> None:
        """Locks out every other writer; while others do not let go, they go on from time to time."""
        clock = asyncio.get_running_loop().time
        until = clock() + TRIES_SECONDS
        while True:
            try:
                async with transaction.savepoint():
                    await self.run(transaction, "bound", str(CLOSE_MILLISECONDS))
                    await self.run(transaction, "close")
                    await self.run(transaction, "bound", str(LOCK_MILLISECONDS))
                    await self.run(transaction, "lock")
                return
            except HELD_BY_OTHERS as error:
                if clock() > until:
                    raise StoreUnavailable(
                        "partitions: expected a moment without transactions in the store that a shard leaves, found "
                        f"none within {TRIES_SECONDS:.0f} s; end long ones, and move again"
                    ) from error
            await asyncio.sleep(self._random.uniform(*PAUSE_SECONDS))

    async def insert(
        self, transaction: Transaction, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]
    ) -> None:
        connection = cast(PostgresTransaction, transaction).connection
        await connection.executemany(self._insertion(table, columns), rows)

    async def insert_numbered(
        self, transaction: Transaction, table: str, columns: Sequence[str], row: Sequence[Any]
    ) -> int:
        sql = f"{self._insertion(table, columns)} returning number"
        ((number,),) = await transaction.execute(sql, row)
        return int(number)

    def _named(self, table: str) -> str:
        return f"{self._schema}.{table.removeprefix('stepward_')}"

    def _among(self, column: str) -> str:
        return f"{column} = any({CHUNK.replace('text[]', 'bigint[]') if column in NUMBERS else CHUNK})"


class PostgresScan(Scan):
    """Looks at every row once, and then at those that transactions have written which had not ended by the last look.

    Nothing else tells which rows are new: the uids of tasks are made by processes, and transactions do not commit in
    the order in which rows are numbered.
    """

    def __init__(self, tables: PostgresTables) -> None:
        super().__init__(tables)
        self._horizon: str | None = None

    async def look_ahead(self) -> None:
        async with self._tables.transaction() as transaction:
            ((horizon,),) = await self._tables.run(transaction, "horizon")
            if self._horizon is not None:
                await self.finish(transaction)
        if self._horizon is None:
            await self._look_through()
        self._horizon = horizon

    async def finish(self, transaction: Transaction) -> None:
        since = self._horizon
        for uid, id in await self._tables.run(transaction, "tasks_since", since):
            self.found_task(uid, id)
        self.found_messages(await self._tables.run(transaction, "messages_since", since))
        self.found_letters(await self._tables.run(transaction, "letters_since", since))

    async def _look_through(self) -> None:
        """Looks at every row, in short transactions."""
        uid: str | None = ""
        token, number = 0, 0
        while uid is not None:
            async with self._tables.transaction() as transaction:
                tasks = await self._tables.run(transaction, "tasks_after", uid, ROWS_SCANNED)
                messages = await self._tables.run(transaction, "messages_after", token, ROWS_SCANNED)
                letters = await self._tables.run(transaction, "letters_after", number, ROWS_SCANNED)
            for each, id in tasks:
                self.found_task(each, id)
            uid = tasks[-1][0] if tasks else uid
            token = self.found_messages(messages) or token
            number = self.found_letters(letters) or number
            if ROWS_SCANNED not in (len(tasks), len(messages), len(letters)):
                uid = None
