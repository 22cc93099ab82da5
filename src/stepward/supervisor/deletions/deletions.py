"""Deletions outside the store that follow from deletions in it: objects of large payloads, files of the archive."""

from __future__ import annotations

from pathlib import Path

from stepward.clock import Environment
from stepward.events import Observers
from stepward.large_payloads import PayloadKeeper
from stepward.store.contract import ObjectOwnerStore, SupervisorStore
from stepward.supervisor.deletions.deletions_in_archive import ArchiveErasure
from stepward.supervisor.deletions.large_payload_objects import ObjectCleaning


class Cleaning:
    """Carries deletions on to where the store does not reach."""

    def __init__(
        self,
        store: SupervisorStore,
        keeper: PayloadKeeper | None,
        archive: str | None,
        observers: Observers,
        environment: Environment,
        owners: ObjectOwnerStore | None = None,
    ) -> None:
        self._objects = (
            None
            if keeper is None
            else ObjectCleaning(store, keeper, observers=observers, environment=environment, owners=owners)
        )
        self._archive = (
            None
            if archive is None
            else ArchiveErasure(store, Path(archive), observers=observers, environment=environment)
        )

    async def run(self, term: int, *, in_background: bool, archives: bool) -> None:
        """Do what is due, if it is time; ``archives``: whether no file of the archive is being written.

        A file that is begun before a deletion may have the deleted tasks, and is not found before it has its name.
        """
        if self._archive is not None and archives:
            await self._archive.run(term, in_background=in_background)
        if self._objects is not None:
            await self._objects.run(in_background=in_background)

    async def close(self) -> None:
        """Stop; the next start, or another leader, continues."""
        for part in (self._archive, self._objects):
            if part is not None:
                await part.close()
