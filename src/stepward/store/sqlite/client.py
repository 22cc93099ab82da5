"""Transactions of applications on SQLite; all else that they do is the same on every store."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from stepward.store.contract import Borrowed, Transaction
from stepward.store.sqlite.engine.clock import StoreClock
from stepward.store.sqlite.engine.database import Database
from stepward.store.sqlite.engine.verb_engine import verb_engine
from stepward.store.sqlite.external import refuse_borrowed
from stepward.store.sqlite.hot import transaction
from stepward.store.verbs.readers.client import ClientVerbs


class SqliteClient(ClientVerbs):
    """What applications may do; see ``ClientStore``."""

    def __init__(self, database: Database, clock: StoreClock) -> None:
        super().__init__(verb_engine(database, clock))
        self._database = database

    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        """Other writers of this store object wait for its end."""
        return transaction.opened(self._database)

    def borrowed(self, connection: object) -> Borrowed:
        """Refuses: SQLite has no connections of another process to borrow."""
        refuse_borrowed(connection)
