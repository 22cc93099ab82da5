"""Open transactions on a file, which stay open across awaits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import apsw

from stepward.errors import Refused, StoreUnavailable
from stepward.store import transaction_scopes
from stepward.store.sqlite.engine.connection import Connection
from stepward.store.sqlite.engine.database import Database
from stepward.store.sqlite.engine.notifier import Notifier
from stepward.store.sqlite.engine.verb_engine import DrivenConnection
from stepward.store.sqlite.hot.scheduler import check_alive
from stepward.store.verbs.open_transaction import ENDED_BY_STATEMENT, ROLLED_BACK, OpenTransaction


class SqliteTransaction(OpenTransaction):
    """Implements ``Transaction``; what SQLite raises for the application's own SQL comes out as it is."""

    def __init__(self, connection: Connection, scope: transaction_scopes.Scope) -> None:
        super().__init__(DrivenConnection(connection), scope)
        self._connection = connection

    async def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        super()._check_open()
        if not self._connection.raw.in_transaction:
            raise Refused(ROLLED_BACK)
        try:
            return self._connection.rows(sql, parameters)
        except apsw.AuthError:
            raise Refused(ENDED_BY_STATEMENT) from None

    @asynccontextmanager
    async def savepoint(self) -> AsyncIterator[None]:
        self._check_open()
        try:
            with self._connection.savepoint(self._scope.check):
                yield
        except BaseException:
            self._check_open()
            raise

    async def _prove(self, instance: str) -> None:
        check_alive(self._connection, instance)

    def _check_open(self) -> None:
        super()._check_open()
        if not self._connection.raw.in_transaction:
            raise StoreUnavailable(ROLLED_BACK)


@asynccontextmanager
async def opened(database: Database, notifier: Notifier) -> AsyncIterator[SqliteTransaction]:
    """A transaction of its own: commits when left, rolls back on an exception.

    Other writers of this store object wait for its end.
    """
    transaction_scopes.refuse_nested(database)
    async with database.transaction(is_within=transaction_scopes.is_within(database)) as connection:
        with transaction_scopes.entered(database) as scope:
            yield SqliteTransaction(connection, scope)
    notifier.ring_all()
