"""What SQLite's verbs of a host have of their own."""

from __future__ import annotations

from collections.abc import Collection

from stepward.model.records import Role
from stepward.store.sqlite.engine.clock import StoreClock
from stepward.store.sqlite.engine.database import Database
from stepward.store.sqlite.engine.verb_engine import verb_engine
from stepward.store.verbs.readers.host import HostVerbs


class SqliteHost(HostVerbs):
    """What the host of actors needs; see ``HostStore``."""

    def __init__(self, database: Database, clock: StoreClock) -> None:
        super().__init__(verb_engine(database, clock))
        self._database = database

    async def check_rights(self, roles: Collection[Role]) -> None:
        """Checks nothing: a process that may open the file may do everything."""

    def changed(self) -> bool:
        return self._database.changed()

    async def stirred(self, every: float) -> None:
        await self._database.stirred(every)

    def break_off(self) -> bool:
        return self._database.break_off()
