"""Open transactions on PostgreSQL, several at once, each on a connection of its own."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import asyncpg

from stepward.errors import Refused, StepwardError, StoreUnavailable
from stepward.store import transaction_scopes
from stepward.store.postgres.engine.connecting.session_reset import Use
from stepward.store.postgres.engine.connection import Connection
from stepward.store.postgres.engine.database import Database
from stepward.store.postgres.engine.error_translation import BROKEN, DATA, translated
from stepward.store.postgres.engine.notifier import Notifier
from stepward.store.postgres.hot.connection_proxy import ProxyHolder, proxied
from stepward.store.postgres.hot.turn import prove
from stepward.store.store_errors import refused
from stepward.store.verbs.open_transaction import ENDED_BY_STATEMENT, ROLLED_BACK, OpenTransaction

T = TypeVar("T")

COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
ENDS = frozenset({"begin", "start", "commit", "end", "rollback", "abort", "prepare"})
"""The first words of statements that begin or end a transaction; ``savepoint`` and its kin stay within it."""


class PostgresTransaction(OpenTransaction):
    """Implements ``Transaction``; what PostgreSQL raises for the application's own SQL comes out as it is, but for the
    loss of the connection, which is ``StoreUnavailable``.

    After a statement that failed nothing goes on in it: what may fail belongs into a savepoint.
    """

    def __init__(
        self, connection: Connection, database: Database, scope: transaction_scopes.Scope, lent: ProxyHolder
    ) -> None:
        super().__init__(connection, scope)
        self._connection = connection
        self._database = database
        self._lent = lent

    @property
    def connection(self) -> asyncpg.Connection[asyncpg.Record]:
        """asyncpg's own connection, for what ``execute`` cannot do, such as copying many rows; lent until the end.

        The transaction is not yours to end: a step's outcome is not recorded outside of it.
        """
        self._scope.check()
        return self._lent.connection

    async def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Places are written ``$1``, ``$2``, …"""
        self._scope.check()
        if _first_word(sql) in ENDS:
            raise Refused(ENDED_BY_STATEMENT)
        self._connection.use = max(self._connection.use, Use.STATEMENTS)
        try:
            return [tuple(row) for row in await self._connection.fetched(sql, *parameters)]
        except asyncpg.InFailedSQLTransactionError:
            raise Refused(ROLLED_BACK) from None
        except BROKEN as error:
            if not self._connection.raw.is_closed():
                raise
            raise translated(error, self._database.place.shown) from error

    @asynccontextmanager
    async def savepoint(self) -> AsyncIterator[None]:
        self._scope.check()
        try:
            async with self._connection.savepoint(self._scope.check):
                yield
        except asyncpg.InFailedSQLTransactionError:
            raise StoreUnavailable(ROLLED_BACK) from None

    async def _prove(self, instance: str) -> None:
        if not self._connection.raw.is_in_transaction():
            raise Refused("transaction: expected it open until the step ends, found it ended; leave that to Stepward")
        # From here on a Supervisor that would fence the instance waits for this transaction.
        await self._connection.bind_transaction(self._database.turns.seconds)
        await prove(self._connection, instance, None, 0.0)

    async def _translated(self, work: Awaitable[T]) -> T:
        try:
            return await work
        except StepwardError:
            raise
        except asyncpg.InFailedSQLTransactionError:
            raise StoreUnavailable(ROLLED_BACK) from None
        except DATA as error:
            raise refused(error, self._database.place.shown) from error
        except BROKEN as error:
            raise translated(error, self._database.place.shown) from error


@asynccontextmanager
async def opened(database: Database, notifier: Notifier, *, enters: bool = True) -> AsyncIterator[PostgresTransaction]:
    """A transaction of its own: commits when left, rolls back on an exception.

    ``enters``: whether the shards of a partition stay while it lasts.
    """
    transaction_scopes.refuse_nested(database)
    async with database.shared.transaction(enters=enters) as connection:
        with transaction_scopes.entered(database) as scope, proxied(connection) as lent:
            yield PostgresTransaction(connection, database, scope, lent)
    notifier.ring()


def _first_word(sql: str) -> str:
    words = COMMENT.sub(" ", sql).lstrip(" \t\r\n;(").split(None, 1)
    return words[0].rstrip(";").lower() if words else ""
