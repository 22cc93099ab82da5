"""PostgreSQL's own part of the applications' verbs: transactions on connections of the application."""

from __future__ import annotations

from stepward.store.contract import ExternalTransaction
from stepward.store.postgres.engine.database import Database
from stepward.store.postgres.external import PostgresExternalTransaction, StoreOrigin
from stepward.store.verbs.engine import VerbEngine
from stepward.store.verbs.parts.client import ClientVerbs


class PostgresClient(ClientVerbs):
    """Implements ``ClientStore`` on PostgreSQL."""

    def __init__(self, engine: VerbEngine, database: Database) -> None:
        super().__init__(engine)
        self._database = database
        self._origin = StoreOrigin(database)

    def external(self, connection: object) -> ExternalTransaction:
        return PostgresExternalTransaction(connection, self._database, self._origin, self._ring)
