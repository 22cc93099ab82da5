"""What PostgreSQL's verbs of a host have of their own: rights, and bounds that follow from the lease."""

from __future__ import annotations

from collections.abc import Collection

from stepward.errors import StoreUnavailable
from stepward.model.records import Instance, Role
from stepward.store.postgres.engine.database import Database
from stepward.store.postgres.engine.notifier import Notifier
from stepward.store.postgres.engine.verb_engine import verb_engine
from stepward.store.postgres.schema import rights
from stepward.store.postgres.server.stalled_sessions import end_stalled
from stepward.store.verbs.readers.host import HostVerbs


class PostgresHost(HostVerbs):
    """What the host of actors needs; see ``HostStore``."""

    def __init__(self, database: Database, notifier: Notifier) -> None:
        super().__init__(verb_engine(database, notifier))
        self._database = database
        self._notifier = notifier

    async def check_rights(self, roles: Collection[Role]) -> None:
        await self._database.others.read(rights.check, roles, self._database.place.shown)

    async def register(self, instance: Instance, lease: float) -> None:
        """From then on no statement may take as long as half of the lease."""
        self._database.heed(lease)
        try:
            await super().register(instance, lease)
        except StoreUnavailable:
            # Perhaps somebody stands still who has locked the seat, and nobody else is there to notice.
            await end_stalled(self._database.others)
            await super().register(instance, lease)

    def changed(self) -> bool:
        return self._notifier.changed()

    async def stirred(self, every: float) -> None:
        await self._notifier.stirred(every)

    def break_off(self) -> bool:
        """An open transaction keeps nobody out of the whole database."""
        return False
