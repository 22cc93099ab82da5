"""An open transaction in which application rows, submissions and a step's outcome commit together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import apsw
import msgspec
from msgspec.structs import astuple, replace

from stepward.errors import Refused, StoreUnavailable
from stepward.model.plan import NO_PLANS, Plans
from stepward.model.records import Task
from stepward.store import transaction_scopes
from stepward.store.contract import Finish, Submitted
from stepward.store.queries import load_queries
from stepward.store.sqlite.engine.connection import Connection
from stepward.store.sqlite.engine.database import Database
from stepward.store.sqlite.engine.parameters import FRAGMENTS
from stepward.store.sqlite.hot.submission import Q as SUBMISSION
from stepward.store.sqlite.hot.submission import submit
from stepward.store.sqlite.hot.turn import check_alive

Q = load_queries(__package__, "turn.sql", FRAGMENTS)


GONE = "transaction: expected it open, found it rolled back by an earlier statement; leave it"


class SqliteTransaction:
    """Implements ``Transaction``; what SQLite raises for the application's own SQL comes out as it is."""

    def __init__(self, connection: Connection, scope: transaction_scopes.Scope) -> None:
        self._connection = connection
        self._scope = scope

    async def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        self._scope.check()
        if not self._connection.raw.in_transaction:
            raise Refused(GONE)
        try:
            return self._connection.rows(sql, parameters)
        except apsw.AuthError:
            raise Refused(
                "transaction: expected statements within it, found one that ends it; leave that to Stepward"
            ) from None

    async def submit(self, tasks: Sequence[Task], plans: Plans = NO_PLANS) -> list[Submitted]:
        self._check_open()
        return submit(self._connection, tasks, plans)

    async def known(self, ids: Sequence[str]) -> set[str]:
        self._check_open()
        wanted = msgspec.json.encode(list(ids)).decode()
        return {row[0] for row in self._connection.rows(SUBMISSION["existing"], (wanted,))}

    @asynccontextmanager
    async def savepoint(self) -> AsyncIterator[None]:
        self._check_open()
        try:
            with self._connection.savepoint(self._scope.check):
                yield
        except BaseException:
            self._check_open()
            raise

    async def finish(self, instance: str, finish: Finish) -> bool:
        """Commits; raises InstanceFenced if the instance is dead."""
        self._check_open()
        check_alive(self._connection, instance)
        if self._connection.row(Q["held_forward"], (finish.task, instance)) is None:
            return False
        return self._connection.change(Q["finish"], astuple(replace(finish, ordinal=None))) == 1

    def _check_open(self) -> None:
        self._scope.check()
        if not self._connection.raw.in_transaction:
            raise StoreUnavailable(GONE)


@asynccontextmanager
async def opened(database: Database) -> AsyncIterator[SqliteTransaction]:
    """A transaction of its own: commits when left, rolls back on an exception."""
    transaction_scopes.refuse_nested(database)
    async with database.transaction(is_within=transaction_scopes.is_within(database)) as connection:
        with transaction_scopes.entered(database) as scope:
            yield SqliteTransaction(connection, scope)
