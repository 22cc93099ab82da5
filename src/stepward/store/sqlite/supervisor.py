"""What SQLite's Supervisor verbs have of their own."""

from __future__ import annotations

from stepward.store.contract import Standby
from stepward.store.sqlite.engine.clock import StoreClock
from stepward.store.sqlite.engine.database import Database
from stepward.store.sqlite.engine.verb_engine import verb_engine
from stepward.store.verbs.readers.supervisor import SupervisorVerbs


class SqliteSupervisor(SupervisorVerbs):
    """What a Supervisor may do; see ``SupervisorStore``."""

    def __init__(self, database: Database, clock: StoreClock) -> None:
        super().__init__(verb_engine(database, clock), first_expired=(float("-inf"), 0))

    async def standbys(self) -> list[Standby] | None:
        """A file has none."""
        return None
