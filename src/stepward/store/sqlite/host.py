"""What SQLite's verbs of a host have of their own: a transaction keeps other writers out of the whole file."""

from __future__ import annotations

from stepward.store.sqlite.engine.database import Database
from stepward.store.verbs.engine import VerbEngine
from stepward.store.verbs.readers.host import HostVerbs


class SqliteHost(HostVerbs):
    """Implements ``HostStore`` on a file."""

    def __init__(self, engine: VerbEngine, database: Database) -> None:
        super().__init__(engine)
        self._database = database

    def break_off(self) -> bool:
        return self._database.break_off()
