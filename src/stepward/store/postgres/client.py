"""Transactions of applications on PostgreSQL; all else that they do is the same on every store."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from stepward.store.contract import Borrowed, Transaction
from stepward.store.postgres.engine.database import Database
from stepward.store.postgres.engine.notifier import Notifier
from stepward.store.postgres.engine.verb_engine import verb_engine
from stepward.store.postgres.external import Home, PostgresBorrowed
from stepward.store.postgres.hot import transaction
from stepward.store.verbs.readers.client import ClientVerbs


class PostgresClient(ClientVerbs):
    """What applications may do; see ``ClientStore``."""

    def __init__(self, database: Database, notifier: Notifier) -> None:
        super().__init__(verb_engine(database, notifier))
        self._database = database
        self._notifier = notifier
        self._home = Home(database)

    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        """Several may be open at once, each on a connection of its own."""
        return transaction.opened(self._database, self._notifier)

    def borrowed(self, connection: object) -> Borrowed:
        database = self._database
        return PostgresBorrowed(connection, database.schema, database.place.shown, self._home, self._notifier)
