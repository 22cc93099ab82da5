"""An open transaction in which application rows, submissions and a step's outcome commit together."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import asyncpg
from msgspec.structs import astuple, replace

from stepward.errors import Refused, StepwardError, StoreUnavailable
from stepward.model.plan import NO_PLANS, Plans
from stepward.model.records import Task
from stepward.store import transaction_scopes
from stepward.store.contract import Finish, Submitted
from stepward.store.postgres.engine.columns import columns_of
from stepward.store.postgres.engine.connection import Connection
from stepward.store.postgres.engine.database import Database
from stepward.store.postgres.engine.faults import BROKEN, DATA, refused, translated
from stepward.store.postgres.engine.notifier import Notifier
from stepward.store.postgres.engine.session import Use
from stepward.store.postgres.hot.connection_proxy import Lending, lending
from stepward.store.postgres.hot.submission import submit
from stepward.store.postgres.hot.turn import prove

T = TypeVar("T")

COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
ENDS = frozenset({"begin", "start", "commit", "end", "rollback", "abort", "prepare"})
"""The first words of statements that begin or end a transaction; ``savepoint`` and its kin stay within it."""
GONE = "transaction: expected it open, found it rolled back by an earlier statement; leave it"


class PostgresTransaction:
    """Implements ``Transaction``; what PostgreSQL raises for the application's own SQL comes out as it is, but for the
    loss of the connection, which is ``StoreUnavailable``.

    After a statement that failed nothing goes on in it: what may fail belongs into a savepoint.
    """

    def __init__(
        self, connection: Connection, database: Database, scope: transaction_scopes.Scope, lent: Lending
    ) -> None:
        self._connection = connection
        self._database = database
        self._scope = scope
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
            raise Refused("transaction: expected statements within it, found one that ends it; leave that to Stepward")
        self._connection.use = max(self._connection.use, Use.STATEMENTS)
        try:
            return [tuple(row) for row in await self._connection.fetched(sql, *parameters)]
        except asyncpg.InFailedSQLTransactionError:
            raise Refused(GONE) from None
        except BROKEN as error:
            if not self._connection.raw.is_closed():
                raise
            raise translated(error, self._database.place.shown) from error

    async def submit(self, tasks: Sequence[Task], plans: Plans = NO_PLANS) -> list[Submitted]:
        self._scope.check()
        return await self._told(submit(self._connection, tasks, plans))

    async def known(self, ids: Sequence[str]) -> set[str]:
        self._scope.check()
        found = await self._told(self._connection.rows("submission.existing", list(ids)))
        return {row[0] for row in found}

    @asynccontextmanager
    async def savepoint(self) -> AsyncIterator[None]:
        self._scope.check()
        try:
            async with self._connection.savepoint(self._scope.check):
                yield
        except asyncpg.InFailedSQLTransactionError:
            raise StoreUnavailable(GONE) from None

    async def finish(self, instance: str, finish: Finish) -> bool:
        """Commits; raises InstanceFenced if the instance is dead."""
        self._scope.check()
        seconds = self._database.turns.seconds
        return await self._told(_finish(self._connection, instance, finish, seconds))

    async def _told(self, work: Awaitable[T]) -> T:
        try:
            return await work
        except StepwardError:
            raise
        except asyncpg.InFailedSQLTransactionError:
            raise StoreUnavailable(GONE) from None
        except DATA as error:
            raise refused(error, self._database.place.shown) from error
        except BROKEN as error:
            raise translated(error, self._database.place.shown) from error


@asynccontextmanager
async def opened(database: Database, notifier: Notifier) -> AsyncIterator[PostgresTransaction]:
    """A transaction of its own: commits when left, rolls back on an exception."""
    transaction_scopes.refuse_nested(database)
    async with database.shared.transaction() as connection:
        with transaction_scopes.entered(database) as scope, lending(connection) as lent:
            yield PostgresTransaction(connection, database, scope, lent)
    notifier.ring()


async def _finish(connection: Connection, instance: str, finish: Finish, seconds: float) -> bool:
    if not connection.raw.is_in_transaction():
        raise Refused("transaction: expected it open until the step ends, found it ended; leave that to Stepward")
    # From here on whoever would fence the instance waits for this transaction.
    await connection.bind_transaction(seconds)
    await prove(connection, instance, None, 0.0)
    if not await connection.rows("turn.held_forward", finish.task, instance):
        return False
    values = columns_of([astuple(replace(finish, ordinal=None))])
    return await connection.change("turn.finish", *values) == 1


def _first_word(sql: str) -> str:
    words = COMMENT.sub(" ", sql).lstrip(" \t\r\n;(").split(None, 1)
    return words[0].rstrip(";").lower() if words else ""
