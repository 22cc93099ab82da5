"""The part of the store for the objects in which large payloads are kept outside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class ObjectOwnerStore(Protocol):
    """The tasks to which objects belong, for the deletion of objects."""

    async def deleted_owners(self, limit: int) -> list[str]:
        """The uids of deleted tasks whose objects are still to be deleted: their deletion noted them in its commit."""
        ...

    async def forget_owners(self, uids: Sequence[str]) -> None:
        """The objects of these deleted tasks are deleted."""
        ...

    async def known_owners(self, uids: Sequence[str]) -> set[str]:
        """Those of the tasks that exist."""
        ...

    async def family(self, uid: str, limit: int) -> list[str]:
        """The uids of the descendants of a task, whether or not the task exists itself."""
        ...
