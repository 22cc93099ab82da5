"""PostgreSQL's own part of a host's verbs: privileges, and bounds that follow from the lease."""

from __future__ import annotations

from collections.abc import Collection

from stepward.errors import StoreUnavailable
from stepward.model.records import Instance, Role
from stepward.store.contract import PartitionRecord
from stepward.store.postgres.engine.database import Database
from stepward.store.postgres.schema import privilege_check
from stepward.store.postgres.server.stalled_sessions import end_stalled
from stepward.store.verbs.actors.host import HostVerbs
from stepward.store.verbs.engine import VerbEngine


class PostgresHost(HostVerbs):
    """Implements ``HostStore`` on PostgreSQL."""

    def __init__(self, engine: VerbEngine, database: Database) -> None:
        super().__init__(engine)
        self._database = database

    async def check_rights(self, roles: Collection[Role]) -> None:
        await self._database.others.read(privilege_check.check, roles, self._database.place.shown)

    async def partition(self) -> PartitionRecord | None:
        record = await super().partition()
        self._database.gate.saw(record)
        return record

    async def keep_partition(self, record: PartitionRecord) -> PartitionRecord:
        kept = await super().keep_partition(record)
        self._database.gate.saw(kept)
        return kept

    async def register(self, instance: Instance, lease: float) -> None:
        """From then on no statement may take as long as half of the lease."""
        self._database.heed(lease)
        try:
            await super().register(instance, lease)
        except StoreUnavailable:
            # A stalled session may have locked the leadership, with no other instance left to find it.
            await end_stalled(self._database.others)
            await super().register(instance, lease)
