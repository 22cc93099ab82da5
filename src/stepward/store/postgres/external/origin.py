"""The origin of a store, so that no task goes into a schema of the same name elsewhere."""

from __future__ import annotations

from stepward.store.postgres.engine.connection import Connection
from stepward.store.postgres.engine.database import Database
from stepward.store.postgres.external.submission import queries_of


class StoreOrigin:
    """Which database of which server holds the store; a restart or a failover makes it another."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known = ""

    def is_known(self) -> bool:
        """Whether it was read."""
        return bool(self._known)

    def is_at(self, found: str) -> bool:
        """Whether that is it, as it was last read."""
        return found == self._known

    async def read(self) -> None:
        """Ask the store's own connection."""
        ((self._known,),) = await self._database.others.read(
            Connection.fetched, queries_of(self._database.schema)["here"]
        )
