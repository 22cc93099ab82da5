"""PostgreSQL's own part of the Supervisor's verbs: other sessions may stand still with rows locked."""

from __future__ import annotations

import contextlib

from stepward.errors import StoreError, StoreUnavailable
from stepward.model.records import Instance
from stepward.store.contract import Standby
from stepward.store.postgres.engine.database import Database
from stepward.store.postgres.server import replication
from stepward.store.postgres.server.stalled_sessions import end_stalled
from stepward.store.rules.steps.expired_steps import ExpiryCursor
from stepward.store.verbs.actors.supervisor import SupervisorVerbs
from stepward.store.verbs.engine import VerbEngine


class PostgresSupervisor(SupervisorVerbs):
    """Implements ``SupervisorStore`` on PostgreSQL."""

    def __init__(self, engine: VerbEngine, database: Database, first_expired: ExpiryCursor) -> None:
        super().__init__(engine, first_expired)
        self._lane = database.others

    async def lead(self, instance: str, lease: float) -> int | None:
        try:
            return await super().lead(instance, lease)
        except StoreUnavailable:
            # A stalled session may have locked the leadership: then it is free at the next try.
            with contextlib.suppress(StoreError):
                await end_stalled(self._lane)
            raise

    async def fence(self, term: int) -> list[Instance]:
        """Fences lost instances, and forgets those dead for an hour that hold nothing."""
        # A session that stalls with an instance's row locked keeps the instance from being declared dead.
        await end_stalled(self._lane)
        return await super().fence(term)

    async def standbys(self) -> list[Standby] | None:
        return await self._lane.read(replication.standbys)
